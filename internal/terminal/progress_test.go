package terminal

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestProgress drives a progress line by hand: it draws nothing in the first second, and clears
// the line at the end.
func TestProgress(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	var out strings.Builder
	ticks := make(chan time.Time)
	p := StartProgress(&out, "indexing", 80, true, began, ticks)
	p.Count(812, 2000, "runs")
	ticks <- began.Add(900 * time.Millisecond)
	ticks <- began.Add(5 * time.Second)
	p.End()
	p.End()
	want := "\rindexing  812 / 2,000 runs  ████░░░░░░░░  7 s left\x1b[K\r\x1b[K"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}

	out.Reset()
	p = StartProgress(&out, "sealing", 80, true, began, ticks)
	ticks <- began.Add(500 * time.Millisecond)
	p.End()
	if out.String() != "" {
		t.Errorf("a short operation draws %q", out.String())
	}
	var none *Progress
	none.Count(1, 2, "runs")
	none.End()
}

func TestProgressFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &Progress{label: "verifying 翻訳", columns: rapid.IntRange(2, 200).Draw(t, "columns"), unicode: rapid.Bool().Draw(t, "unicode")}
		p.Count(rapid.IntRange(0, 5000).Draw(t, "done"), rapid.IntRange(0, 4000).Draw(t, "total"), rapid.SampledFrom([]string{"", "logs"}).Draw(t, "unit"))
		text := p.text(time.Duration(rapid.IntRange(1, 1e6).Draw(t, "ms")) * time.Millisecond)
		if Columns(text) >= p.columns || strings.ContainsAny(text, "\r\n\x1b") {
			t.Fatalf("%q in %d columns", text, p.columns)
		}
	})
}
