package transcript

import (
	"strings"
	"testing"

	"ac/internal/clip"
)

// TestGrowing checks that appending to a text leaves earlier copies unchanged, and costs only
// what is new.
func TestGrowing(t *testing.T) { //nolint:paralleltest // allocations are those of the process
	var a Item
	a.appendText("one ")
	b := a // a copy is independent
	a.appendText("two")
	b.appendText("TWO")
	if a.Text != "one two" || b.Text != "one TWO" {
		t.Errorf("%q, %q", a.Text, b.Text)
	}
	a.Text = "ONE TWO" // the same length as before
	if a.appendText("!"); a.Text != "ONE TWO!" {
		t.Errorf("%q", a.Text)
	}
	a.setText("")
	if a.appendText("new"); a.Text != "new" {
		t.Errorf("%q", a.Text)
	}
	var long Item
	tool := &Tool{}
	piece := strings.Repeat("é", 20) + "\n"
	var whole strings.Builder
	for range 8000 {
		long.appendText(piece)
		tool.appendOutput(piece)
		whole.WriteString(piece)
	}
	cut := clip.Head(whole.String(), maxText)
	if !long.Truncated || long.Text != cut {
		t.Errorf("%d bytes, want %d", len(long.Text), len(cut))
	}
	if want := clip.Tail(whole.String(), maxOutput); tool.OutputTail != want || tool.OutputBytes != int64(whole.Len()) {
		t.Errorf("%d bytes, want %d", len(tool.OutputTail), len(want))
	}
	var item Item
	if n := testing.AllocsPerRun(1, func() {
		item = Item{}
		for range 5000 {
			item.appendText(piece)
		}
	}); n > 40 {
		t.Errorf("%v allocations for 5,000 pieces", n)
	}
}
