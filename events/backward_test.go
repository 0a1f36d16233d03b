package events

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestBackward compares the lines read from the end with those read from the start. The texts
// have empty lines, lines around the size of a block, and may lack the last LF.
func TestBackward(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, text := range []string{
		"", "\n", "\n\n", "a", "a\n", "a\nb", "\na\n\nb\n", long(tailBlock), long(tailBlock-1) + "\n" + long(tailBlock) + "\n",
		long(otherBlock) + "\n" + long(3*otherBlock) + "\n" + long(1) + "\n" + long(tailBlock-2) + "\n", strings.Repeat("a line\n", 100_000),
	} {
		var want, got []string
		for line := range strings.Lines(text) {
			want = append(want, line)
		}
		slices.Reverse(want)
		err := Backward(strings.NewReader(text), int64(len(text)), func(line []byte) bool {
			got = append(got, string(line))
			return true
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of %d bytes: %d lines, want %d (%v)", len(text), len(got), len(want), err)
		}
		if len(want) > 1 {
			n := 0
			_ = Backward(bytes.NewReader([]byte(text)), int64(len(text)), func([]byte) bool { n++; return n < 2 })
			if n != 2 {
				t.Errorf("it goes on for %d lines", n)
			}
		}
	}
}
