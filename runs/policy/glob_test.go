package policy

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, text   string
		path, others bool
	}{
		{"a.txt", "a.txt", true, true}, {"a.txt", "A.txt", false, false}, {"a.txt", "aXtxt", false, false},
		{"*", "a.txt", true, true}, {"*", "a/b", false, true}, {"*", ".", true, true},
		{"a/*", "a/b", true, true}, {"a/*", "a/", true, true}, {"a/*", "a/b/c", false, true}, {"a/*", "a", false, false},
		{"**", "a/b", true, true}, {"**", "", true, true}, {"*", "", false, false}, {"***", "", false, false}, {"", "", false, false},
		{"a/**", "a/b/c", true, true}, {"a/**", "a", false, false}, {"a/**/b", "a/b", false, false}, {"a/**/b", "a/x/y/b", true, true},
		{"**/b", "a/b", true, true}, {"**/b", "b", false, false}, {"/**", "/etc/x", true, true}, {"/**", "etc/x", false, false},
		{"a*c*e", "abcde", true, true}, {"a*c*e", "abcdef", false, false}, {"*.go", "a.go", true, true}, {"*.go", "a/b.go", false, true},
		{"?", "a", true, true}, {"?", "ä", true, true}, {"?", "ab", false, false}, {"?", "/", true, true}, {"a?b", "a/b", true, true}, {"??", "ä", false, false},
		{"[ab]", "[ab]", true, true}, {"[ab]", "a", false, false}, {`\*`, `\x`, true, true}, {`\*`, "*", false, false}, {"{a,b}", "a", false, false},
		// A question mark may match a slash that the star before it may not.
		{"*?b*c", "ab/bc", true, true}, {"**a*", "a/a", true, true}, {"**a*", "a/b", false, true},
		{"git *", "git log a/b", false, true}, {"\xff", "\xff", true, true}, {"\xff", "\xfe", false, false}, {"?", "\xff", true, true},
	} {
		if got := Glob(c.glob, c.text, true); got != c.path {
			t.Errorf("Glob(%q, %q) of a path is %v", c.glob, c.text, got)
		}
		if got := Glob(c.glob, c.text, false); got != c.others {
			t.Errorf("Glob(%q, %q) is %v", c.glob, c.text, got)
		}
	}
}

// slowGlob is the reference matcher: it follows the definition of patterns character by
// character.
func slowGlob(glob, text string, path bool) bool {
	if text == "" && glob != "**" {
		return false
	}
	return slowRest(glob, text, path)
}

func slowRest(glob, text string, path bool) bool {
	if glob == "" {
		return text == ""
	}
	_, n := utf8.DecodeRuneInString(text)
	if strings.HasPrefix(glob, "**") {
		return slowRest(glob[2:], text, path) || text != "" && slowRest(glob, text[n:], path)
	}
	if glob[0] == '*' {
		return slowRest(glob[1:], text, path) || text != "" && (!path || text[0] != '/') && slowRest(glob, text[n:], path)
	}
	_, g := utf8.DecodeRuneInString(glob)
	return text != "" && (glob[0] == '?' || glob[:g] == text[:n]) && slowRest(glob[g:], text[n:], path)
}

func TestGlobIsItsSlowReading(t *testing.T) {
	t.Parallel()
	pattern := rapid.StringOfN(rapid.SampledFrom([]rune("ab/*?*ä")), 0, 10, -1)
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab/ä.")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		g, s, path := pattern.Draw(t, "glob"), text.Draw(t, "text"), rapid.Bool().Draw(t, "path")
		if got, want := Glob(g, s, path), slowGlob(g, s, path); got != want {
			t.Fatalf("Glob(%q, %q, %v) = %v", g, s, path, got)
		}
	})
}

// TestGlobIsQuick uses a pattern on which a backtracking matcher would take forever.
func TestGlobIsQuick(t *testing.T) {
	t.Parallel()
	if Glob(strings.Repeat("*a", 250), strings.Repeat("a", 4096)+"b", true) {
		t.Error("it matches")
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a/**/*.go", "a/b/c.go", true)
	f.Add("*?b*c", "ab/bc", true)
	f.Add("\xff*", "\xff\xfe", false)
	f.Fuzz(func(t *testing.T, glob, text string, path bool) {
		got := Glob(glob, text, path)
		if len(glob) <= 12 && len(text) <= 24 {
			if want := slowGlob(glob, text, path); got != want {
				t.Fatalf("Glob(%q, %q, %v) = %v", glob, text, path, got)
			}
		}
		if got && path && !Glob(glob, text, false) {
			t.Fatalf("%q matches the path %q and not the text", glob, text)
		}
	})
}
