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

func TestQuoteLines(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":      `\x1b[31mred\x1b[0m`,
		"a\rb\r\nc\td":            "a\\x0db\nc\td",
		"\x07\x08\x7f\u009b":      `\x07\x08\x7f\u009b`,
		"\u202etxt.exe\u2066":     `\u202etxt.exe\u2066`,
		"grüße ✓ 漢字 🙂":            "grüße ✓ 漢字 🙂",
		"bad \xff byte":           "bad \uFFFD byte",
		"\x1b]0;title\x07 \x1bPq": `\x1b]0;title\x07 \x1bPq`,
	} {
		if got := QuoteLines(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
