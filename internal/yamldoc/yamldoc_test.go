package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/internal/shape"
)

// TestCoreScalars checks the meaning of plain scalars. Each entry is a trap of YAML 1.1 that once
// turned a name into a number, a date or a boolean.
func TestCoreScalars(t *testing.T) {
	t.Parallel()
	str := func(s string) shape.Value { return shape.Value{Kind: shape.String, Text: s} }
	num := func(n float64) shape.Value { return shape.Value{Kind: shape.Number, Num: n} }
	for text, want := range map[string]shape.Value{
		"017": num(17), "0o17": num(15), "0x1F": num(31), "1e3": num(1000), "+12": num(12), ".5": num(0.5), "1.": num(1),
		"1_000": str("1_000"), "12:30": str("12:30"), "2026-01-01": str("2026-01-01"), "2026-01-01T00:00:00Z": str("2026-01-01T00:00:00Z"),
		"no": str("no"), "yes": str("yes"), "on": str("on"), "y": str("y"), "<<": str("<<"), "=": str("="), "0b11": str("0b11"), "1e": str("1e"), "-": str("-"),
		"~": {Kind: shape.Null}, "": {Kind: shape.Null}, "TRUE": {Kind: shape.Bool, Bool: true}, "False": {Kind: shape.Bool},
		"!!str 5": str("5"), "'5'": str("5"), `"a\u0085b"`: str("a\u0085b"), "\"a\u0085b\"": str("a\u0085b"), "\"a\x7fb\"": str("a\x7fb"),
		"\"x\u2028y\"": str("x\u2028y"), "\"x\uFEFFy\"": str("x\uFEFFy"), "--- x": str("--- x"), "...": str("..."), "a\n  b": str("a b"),
		"|\n  l1\n  l2\n": str("l1\nl2\n"), ">-\n  f1\n  f2\n": str("f1 f2"), "😀": str("😀"),
	} {
		if text == "-" {
			continue // an empty list item
		}
		v, err := Parse([]byte("\uFEFFk: " + text + "\r\n"))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, *v.Get("k")); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
	}
}

// TestStyles checks valid texts of other programs that the library alone does not read.
func TestStyles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"k": "\ud83d\uDE00"}`: "😀", `k: "a\/b"`: "a/b", `k: a\/b\ud83d`: `a\/b\ud83d`, `k: 'a\/b'`: `a\/b`, "k: |-\n  a\\/b": `a\/b`,
		`k: "\\/ud83d\\\/"`: `\/ud83d\/`, `k: "\ud83d"`: "\uFFFD", `k: "x\ude00\ud83dy\ud83d\ude00z"`: "x\uFFFD\uFFFDy😀z", "k: \"\U000F0000\x7f\\/\"": "\U000F0000\x7f/",
		"%YAML 1.2\n---\nk: v\n": "v", "\uFEFF# c\r\n\r\n%YAML 1.2\r\n%NEW x\r\n--- # d\r\nk: v\r\n": "v", "%YAML\t1.1\n---\nk: v\n": "v",
		"%TAG !e! tag:yaml.org,2002:\n%YAML 1.2\n---\nk: !e!str 5\n": "5", "k: \"\n  %YAML 1.2\"": " %YAML 1.2", "k: v\n\t\n \t# c\n\t# c\r\n": "v",
		"k: v\nl: [\n\t1,\n\t2\n\t]\n": "v", "{\n\t\"k\": \"v\",\n\t\"l\": {\n\t\t\"m\": 1\n\t}\n}": "v",
	} {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := v.Get("k").Text; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	kept, err := For[sample]().Rewrite([]byte("%YAML 1.2\n---\nname: x\ncount: 0\nexit: null\nurl: \"a\\/\\ud83d\\ude00\" # \\/\n"), sample{Name: "y"})
	if want := "name: \"y\"\ncount: 0\nexit: null\nurl: \"a/\\U0001F600\" # \\/\n"; err != nil || string(kept) != want {
		t.Errorf("rewritten as %q, %v", kept, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for _, level := range []string{"b", "c", "d", "e", "f"} {
		up := string(level[0] - 1)
		bomb += level + ": &" + level + " [" + strings.TrimSuffix(strings.Repeat("*"+up+",", 10), ",") + "]\n"
	}
	for name, text := range map[string]string{
		"duplicate key": "a: 1\na: 2\n", "second document": "a: 1\n---\nb: 2\n", "syntax": "a: [1\n", "alias bomb": bomb,
		"bad utf-8": "a: \xff\n", "nul": "a: \x00\n", "unknown tag": "a: !!python/object x\n", "list as key": "? [a]\n: b\n",
		"directive without a document": "%YAML 1.2\na: 1\n", "YAML 2": "%YAML 2.0\n---\na: 1\n", "indented by a tab": "a:\n\tb: 1\n", "unknown escape": `a: "\q"`,
		"deep": strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	} {
		if v, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: read as %v", name, v.Kind)
		}
	}
}

type sample struct {
	Name  string            `json:"name"`
	Note  string            `json:"note" is:"optional"`
	Count int               `json:"count" is:"min=0"`
	Exit  *int              `json:"exit" is:"nullable"`
	Tags  []string          `json:"tags" is:"optional"`
	Env   map[string]string `json:"env" is:"optional,empty"`
}

func TestEncodeReadsBack(t *testing.T) {
	t.Parallel()
	codec := For[sample]()
	rapid.Check(t, func(t *rapid.T) {
		doc := sample{Name: rapid.String().Draw(t, "name"), Note: rapid.String().Draw(t, "note"), Count: rapid.IntRange(0, 1<<40).Draw(t, "count")}
		if doc.Name == "" {
			doc.Name = "1_000"
		}
		text, err := codec.Encode(doc)
		if err != nil {
			t.Fatal(err)
		}
		back, err := codec.Decode(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(doc, back); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
	})
}

func TestEncodeText(t *testing.T) {
	t.Parallel()
	text, err := For[sample]().Encode(sample{Name: "2026-11-20T14:58:45.475Z", Note: "no", Tags: []string{"a", "0x1F", "012", "2026-03-01", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00.5+02:00", "2026-03-01T00:00", "2026-03-01T00:00:00", "2026-03-01 00:00:00", "2026-03-01T24:00:00Z", "x: y", "T: it's", `say: "no"`, `it's "x": y`, `a\b: c`, "- z", "-z", "a:b#c", "ends:", " x", "@x", "l1\nl2"}, Env: map[string]string{}})
	if err != nil {
		t.Fatal(err)
	}
	want := `name: 2026-11-20T14:58:45.475Z
note: "no"
count: 0
exit: null
tags:
  - a
  - "0x1F"
  - "012"
  - "2026-03-01"
  - 2026-03-01T00:00:00Z
  - 2026-03-01T00:00:00.5+02:00
  - 2026-03-01T00:00
  - 2026-03-01T00:00:00
  - "2026-03-01 00:00:00"
  - "2026-03-01T24:00:00Z"
  - "x: y"
  - "T: it's"
  - 'say: "no"'
  - "it's \"x\": y"
  - "a\\b: c"
  - "- z"
  - -z
  - a:b#c
  - "ends:"
  - " x"
  - "@x"
  - |-
    l1
    l2
env: {}
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
}

// TestRewriteKeeps checks that a rewrite keeps unknown keys and comments.
func TestRewriteKeeps(t *testing.T) {
	t.Parallel()
	old := "# head\nx_future: &a {deep: [1, 2]}\nname: old # why\ncopy: *a\ncount: 0x10\nexit: null\ntags: [q]\n"
	got, err := For[sample]().Rewrite([]byte(old), sample{Name: "new", Count: 16, Note: "n"})
	if err != nil {
		t.Fatal(err)
	}
	want := "# head\nx_future: {deep: [1, 2]}\nname: new # why\nnote: \"n\"\ncopy: {deep: [1, 2]}\ncount: 0x10\nexit: null\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// TestRewriteKeepsWithin checks that unchanged items of a list or map stay as written.
func TestRewriteKeepsWithin(t *testing.T) {
	t.Parallel()
	old := "name: x\ncount: 1\nexit: null\ntags:\n  # first\n  - 'b' # is b\n  - a\nenv: # where\n  # of b\n  B: 'two' # why\n  gone: x\n  A: one\n"
	got, err := For[sample]().Rewrite([]byte(old), sample{Name: "x", Count: 1, Tags: []string{"c", "b"}, Env: map[string]string{"A": "1", "B": "two", "0": "new"}})
	if err != nil {
		t.Fatal(err)
	}
	want := "name: x\ncount: 1\nexit: null\ntags:\n  - c\n  # first\n  - 'b' # is b\nenv: # where\n  # of b\n  B: 'two' # why\n  A: \"1\"\n  \"0\": new\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: 1\nb: [x, *y]\n"))
	f.Add([]byte("k: \"\u0085\"\n"))
	f.Add([]byte("a: 1e400\nb: -.inf\nc: .nan\nd: 1e-7\ne: 12345678901234567890\n"))
	f.Add([]byte("%YAML 1.2\n---\na: \"\\/\\ud83d\\ude00\\udc00\"\n\t\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if err != nil || v.Kind != shape.Map {
			return
		}
		out, err := encodeNode(valueNode(v))
		if err != nil {
			return // no YAML can represent this text
		}
		back, err := Parse(out)
		if was, is := fmt.Sprintf("%+v", v), fmt.Sprintf("%+v", back); err != nil || was != is {
			t.Fatalf("%q was written as %q: %v\n%s\n%s", text, out, err, was, is)
		}
	})
}
