package terminal

import "testing"

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 5, "abc  "},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日… "},
		{"e\u0301a", 2, "e\u0301a"},
		{"\x1b[2J\u202eab", 8, " [2J ab "},
		{"", 2, "  "},
		{"abc", 0, "…"},
	} {
		got := Fit(c.text, c.columns)
		if got != c.want || c.columns > 0 && Columns(got) != c.columns {
			t.Errorf("%q in %d columns is %q, not %q", c.text, c.columns, got, c.want)
		}
	}
}
