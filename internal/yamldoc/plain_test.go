package yamldoc

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// samePlain compares the tree that plainTree reads without the library with the library's. It
// reports whether there is one.
func samePlain(t interface{ Fatalf(string, ...any) }, text []byte) bool {
	got, ok := plainTree(text)
	if !ok {
		return false
	}
	want, err := libraryTree(text)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q is read as\n%s, not\n%s (%v)", text, drawn(got), drawn(want), err)
	}
	return true
}

// drawn prints the fields of a tree.
func drawn(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	out := fmt.Sprintf("%d:%d kind %d %s style %d %q\n", n.Line, n.Column, n.Kind, n.Tag, n.Style, n.Value)
	for _, child := range n.Content {
		out += drawn(child)
	}
	return out
}

// TestPlainTree checks that plainTree reads what the library reads.
func TestPlainTree(t *testing.T) {
	t.Parallel()
	seen, short := 0, 0
	same := func(t interface{ Fatalf(string, ...any) }, text string) {
		seen++
		if samePlain(t, []byte(text)) {
			short++
		}
	}
	for _, s := range scalars() {
		for _, form := range []string{"%", "k: %", "k: %\n", "%: v\n", "- %\n", "k:\n- %\n", "k:\n  - %\n", "- %: v\n  b: %\n", "- - %\n", "k:\n    %: %\n", "k:\n  b: c\n  %\n", "k: '%'\n", "k: \"%\"\n", "k:  %\n", "k: % \n", "k: v\n%\n", "k: v\n %\n"} {
			same(t, strings.ReplaceAll(form, "%", s))
		}
	}
	var harmless []string
	for _, s := range scalars() {
		if _, ok := plainTree([]byte("k: " + s)); ok {
			harmless = append(harmless, s)
		}
	}
	word := rapid.OneOf(rapid.SampledFrom(harmless), rapid.StringMatching(`[a-z_]{1,9}`))
	rapid.Check(t, func(r *rapid.T) {
		text := []byte(anyBlock(r, word, 0, 0))
		if rapid.IntRange(0, 3).Draw(r, "node") == 0 {
			var err error
			if text, err = libraryText(anyNode(r, 0)); err != nil {
				return
			}
		}
		same(r, string(text))
		for range rapid.IntRange(0, 3).Draw(r, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(r, "at")
			to := min(len(text), at+rapid.IntRange(0, 3).Draw(r, "length"))
			text = bytes.Join([][]byte{text[:at], []byte(rapid.StringMatching(`[ \n:#'"a\-\[\]{}]{0,3}`).Draw(r, "put")), text[to:]}, nil)
		}
		same(r, string(text))
	})
	if short < seen/4 {
		t.Errorf("only %d of %d were read without the library", short, seen)
	}
}

// anyBlock generates the text of a collection of depth 5 at most. Most of them are valid.
func anyBlock(r *rapid.T, word *rapid.Generator[string], indent, depth int) string {
	var out strings.Builder
	list, margin := rapid.Bool().Draw(r, "list"), strings.Repeat(" ", indent)
	for range rapid.IntRange(1, 4).Draw(r, "entries") {
		out.WriteString(margin)
		switch inner := depth < 4 && rapid.IntRange(0, 3).Draw(r, "inner") == 0; {
		case list && inner:
			out.WriteString("- " + anyBlock(r, word, indent+len("- "), depth+1)[indent+len("- "):])
			continue
		case list:
			out.WriteString("-")
		case inner:
			out.WriteString(word.Draw(r, "key") + ":\n" + anyBlock(r, word, indent+rapid.IntRange(0, 3).Draw(r, "more"), depth+1))
			continue
		default:
			out.WriteString(word.Draw(r, "key") + ":")
		}
		form := rapid.SampledFrom([]string{" %\n", " %\n", " \"%\"\n", " '%'\n", " {}\n", " []\n"}).Draw(r, "form")
		out.WriteString(strings.ReplaceAll(form, "%", word.Draw(r, "value")))
	}
	return out.String()
}

// documents returns texts, and whether plainTree reads them.
func documents() map[string]bool {
	return map[string]bool{
		"a: 1\nb: \"x: y # z\"\nc: 'say \"y\"'\nd:\n  - e\n  - f: g\n    h: []\n  - \"i: j\"\nk: {}\nl: null\nm: true\nn: 2026-11-26T01:02:03.456Z\no: 1.5\n": true,
		"a:\n- b\n- c:\n  - d\ne:\n    f: g": true, "- a\n": true, "- - a\n  - b\n- c: d\n": true, "a: a\\/b\n": true, "a: 1\na: 2\n": true, "a: --b\nc: -d\n": true,
		"a: \n  b: NULL\n  c: TRUE\n": true, "a: NULL\nb: Null\nc: True\nd: FALSE\n": true,

		"": false, "a\n": false, "a: \n": false, "a:\nb: 1\n": false, "a: 1\n\nb: 2\n": false, "a: 1\n  b\n": false, "a: 1 # one\n": false, "# head\na: 1\n": false,
		"a: &x 1\nb: *x\n": false, "a: {b: c}\n": false, "a: [b]\n": false, "a: |\n  b\n": false, "a: !!str 1\n": false, "a: \"\\n\"\n": false, "a: 'it''s'\n": false,
		"a: \"b\n  c\"\n": false, "a:\tb\n": false, "a: 1\r\n": false, "a: \u00e9\n": false, "\uFEFFa: 1\n": false, "---\na: 1\n": false, "%YAML 1.2\n---\na: 1\n": false,
		"a: 0x10\n": false, "a: 012\n": false, "a: 1_000\n": false, "a: .5\n": false, "<<: a\n": false, "a\\/b: c\n": false, "'a': b\n": false, "? a\n: b\n": false,
		"a:\n  b: 1\n c: 2\n": false, "a:\n  - b\n  c: 1\n": false, "a: \"\n": false, "a: 'b\n": false, "a: -_1\n": false, "a: " + strings.Repeat("9", 400) + ".5\n": false,
		strings.Repeat("x", maxPlainKey+1) + ": 1\n": false, strings.Repeat("x", 1100) + ": 1\n": false, strings.Repeat("- ", maxPlainDepth+2) + "a\n": false,
	}
}

// TestPlainTreeIsUsed checks which texts plainTree reads, and which it leaves to the library.
func TestPlainTreeIsUsed(t *testing.T) {
	t.Parallel()
	for text, short := range documents() {
		if got := samePlain(t, []byte(text)); got != short {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestPlainTreeOfDocuments compares both readers on the documents in the repository's testdata.
func TestPlainTreeOfDocuments(t *testing.T) {
	t.Parallel()
	seen, short := 0, 0
	same := func(text []byte) {
		if seen++; samePlain(t, text) {
			short++
		}
	}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" && entry.IsDir() {
			return fs.SkipDir
		}
		if err != nil || !entry.Type().IsRegular() || !strings.Contains(filepath.ToSlash(path), "/testdata/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 1<<20 || !utf8.Valid(text) {
			return err
		}
		switch filepath.Ext(path) {
		case ".yaml", ".yml":
			same(text)
		case ".md", ".txtar", ".txt":
			// Front matter, and files embedded in test scripts.
			for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
				same(part)
			}
			for part := range bytes.SplitSeq(text, []byte(" --\n")) {
				head, _, _ := bytes.Cut(part, []byte("\n-- "))
				same(head)
			}
		}
		return nil
	})
	if err != nil || short == 0 {
		t.Errorf("%d of %d documents were read without the library: %v", short, seen, err)
	}
}

func FuzzPlain(f *testing.F) {
	for text := range documents() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if utf8.Valid(text) {
			samePlain(t, text)
		}
	})
}
