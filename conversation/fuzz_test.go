package conversation

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzLog compares reading any log from its end with splitting it in memory, also if
// the log is longer than a block.
func FuzzLog(f *testing.F) {
	f.Add([]byte("{}\n\nx\r\n\x00y"), uint16(0), uint8(0))
	f.Add([]byte("a\n"), uint16(40_000), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, gap uint16, times uint8) {
		log := slices.Concat(text, bytes.Repeat(append(bytes.Repeat([]byte("z"), int(gap)), text...), int(times%8)))
		var want, got []string
		for line := range bytes.SplitSeq(log, []byte("\n")) {
			if len(line) > 0 && len(line) <= longestLine {
				want = append(want, string(line))
			}
		}
		err := backwards(bytes.NewReader(log), int64(len(log)), func(line []byte) bool {
			got = append(got, string(line))
			return true
		})
		slices.Reverse(got)
		if err != nil || len(got) != len(want) || !slices.Equal(got, want) {
			t.Fatalf("%d lines, want %d (%v)", len(got), len(want), err)
		}
	})
}
