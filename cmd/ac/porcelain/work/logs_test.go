package work

// Tests of lastLines, which holds back the end of a log.

import (
	"bytes"
	"testing"
)

func TestLastLines(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{0: "a\nb\nc\nd\ne", 1: "c\nd\ne", 2: "b\nc\nd\ne", 9: "a\nb\nc\nd\ne"} {
		var out bytes.Buffer
		l := newLastLines(&out, most)
		for _, chunk := range []string{"a\nb", "\nc", "\n"} {
			if _, err := l.Write([]byte(chunk)); err != nil {
				t.Fatal(err)
			}
		}
		l.passOn()
		if _, err := l.Write([]byte("d\ne")); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("the last %d lines are %q, want %q", most, out.String(), want)
		}
	}
}
