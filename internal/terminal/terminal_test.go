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

func TestQuoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		"日本語 e\u0301 a/b.md":    "日本語 e\u0301 a/b.md",
		"a\x1b[2Jb\nc\td\x7f":   `a\u001b[2Jb\u000ac\u0009d\u007f`,
		"\u202egnp.exe\u009b1m": `\u202egnp.exe\u009b1m`,
		"\u2066a\u2069\u200fb":  `\u2066a\u2069\u200fb`,
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}
