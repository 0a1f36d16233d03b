package yamldoc

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// scalars returns texts that YAML may read as something else, and harmless ones.
func scalars() []string {
	return []string{
		"", "~", "null", "Null", "true", "True", "false", "y", "n", "yes", "No", "on", "OFF", "<<", "=", "-", "--", "---", "----", "...", ".", "?", ":", "? a", "- a",
		"0", "-0", "1", "-1", "007", "+1", "1_000", "0x1f", "0o7", "0b1", "1e3", "1.5", "-.5", ".5", "1.", ".inf", "-.inf", ".nan", "1:30", "190:20:30", "12345678901234567890123",
		"2026-11-26", "2026-11-26T01:02:03Z", "2026-11-26T01:02:03.456Z", "2026-13-26T01:02:03Z", "2026-11-26T01:02:03+01:00", "2026-11-26 01:02:03", "2026-11-20-15",
		"3fa85f64-5717-4562-b3fc-2c963f66afa6:1234", "12e5-45-67", "1-2-3-4-5", "1e-5-", "123456-7-8",
		"251631277a36ae63", "1a", "1e", "1e5a", "1x", "1_a", "2026-11-26T01:02:03Q", "1:a", "0a1",
		"a", "A word", "word: more", "word:", "word #no", "word#", "a:b", "a: ", " a", "a ", "#a", "a,b", "[a]", "{a}", "&a", "*a", "!a", "|", ">", "'a'", `"a"`, "%a", "@a", "`a`",
		"it's", `say "x"`, `both ' and "`, `back\slash`, "two\nlines", "tab\there", "a\u00e9", "a\u2028b", "a\u0085b", "\ufeffa", "\x7f", "\U0001f600", "/usr/bin/ac", "_x", "~/x", "a~",
		"run_01M7YXHQHPJNN54MJ05XFYG9MK", "bash -lc 'go test ./...'", "http://127.0.0.1:80/?a=b#c", strings.Repeat("long ", 60) + "x", strings.Repeat("x", 200), "nan", "inf", "Infinity", "t", "f", "T", "truer", "no.", "0.45.0", "codex-cli 0.45.0",
	}
}

// TestBlockText checks that blockText, which does not use the library, writes the same text as
// the library.
func TestBlockText(t *testing.T) {
	t.Parallel()
	tags := []string{"", "!!str", "!!int", "!!bool", "!!null", "!!float", "!!timestamp"}
	styles := []yaml.Style{0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle, yaml.LiteralStyle, yaml.FoldedStyle, yaml.TaggedStyle}
	seen, short := 0, 0
	same := func(t interface{ Errorf(string, ...any) }, n *yaml.Node) {
		seen++
		got, ok := blockText(n)
		if !ok {
			return
		}
		short++
		if want, err := libraryText(n); err != nil || string(want) != string(got) {
			t.Errorf("%q, not %q (%v)", got, want, err)
		}
	}
	of := func(key string, value *yaml.Node) *yaml.Node {
		return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{stringNode(key), value}}
	}
	for _, s := range scalars() {
		same(t, of("key", stringNode(s)))
		same(t, of(s, stringNode("value")))
		for _, tag := range tags {
			for _, style := range styles {
				n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: s, Style: style}
				same(t, of("key", n))
				same(t, &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{n, stringNode("value")}})
				same(t, of("key", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n, n}}))
			}
		}
	}
	if t.Failed() {
		return
	}
	rapid.Check(t, func(r *rapid.T) { same(r, anyNode(r, 0)) })
	if short < 500 {
		t.Errorf("only %d of %d were written without the library", short, seen)
	}
}

// anyNode generates a mapping of depth 4 at most.
func anyNode(r *rapid.T, depth int) *yaml.Node {
	text := rapid.OneOf(rapid.SampledFrom(scalars()), rapid.StringMatching(`[ -~]{0,12}`), rapid.StringMatching(`[a-z_]{1,9}`), rapid.StringMatching(`[0-9][0-9a-fxXoTZ:.+_-]{0,9}`))
	n := &yaml.Node{Kind: yaml.MappingNode}
	if rapid.IntRange(0, 20).Draw(r, "style") == 0 {
		n.Style = yaml.FlowStyle
	}
	for range rapid.IntRange(0, 4).Draw(r, "entries") {
		n.Content = append(n.Content, stringNode(text.Draw(r, "key")), anyValue(r, text, depth+1))
	}
	return n
}

func anyValue(r *rapid.T, text *rapid.Generator[string], depth int) *yaml.Node {
	kind := rapid.IntRange(0, 6).Draw(r, "kind")
	switch {
	case kind == 0 && depth < 4:
		return anyNode(r, depth)
	case kind == 1 && depth < 4:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for range rapid.IntRange(0, 3).Draw(r, "items") {
			n.Content = append(n.Content, anyValue(r, text, depth+1))
		}
		return n
	case kind == 2:
		return numberNode(rapid.Float64().Draw(r, "number"))
	}
	return stringNode(text.Draw(r, "text"))
}

// TestBlockTextKeepsWhatWasThere checks nodes that were read from a text, with their styles.
func TestBlockTextKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	for text, short := range map[string]bool{
		"a: 1\nb: \"x\"\nc: 'y'\nd:\n  - e\n  - f: g\n    h: []\ni: {}\nj: null\nk: true\nl: 2026-11-26T01:02:03.456Z\n": true,
		"a: 1 # one\n":     false,
		"# head\na: 1\n":   false,
		"a: &x 1\nb: *x\n": false,
		"a: {b: c}\n":      false,
		"a: [b]\n":         false,
		"a: |\n  b\n":      false,
		"a: !!str 1\n":     false,
		"a: 0x10\n":        false,
		"a: 1.5\n":         false,
	} {
		root, err := parseNode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := blockText(root)
		if ok != short || ok && string(got) != text {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}
