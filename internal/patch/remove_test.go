package patch

import (
	"errors"
	"strings"
	"testing"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, under, want string }{
		{"## A\n\n- n\n\n- x\n", "## A", "## A\n\n- x\n"},
		{"## A\n- n\n\n- x\n", "## A", "## A\n- x\n"},
		{"## A\n\n- n\n", "## A", "## A\n\n"},
		{"- n\n## A\n- m\n- n\n\n## B\n", "## A", "- n\n## A\n- m\n\n## B\n"},
		{"## A\n\n- n  \n\n- n\n", "## A", "## A\n\n- n\n"},
		{"## A\r\n\r\n- n\r\n\r\n- x\r\n", "## A", "## A\r\n\r\n- x\r\n"},
		{"## A\n\n- n", "## A", "## A\n\n"},
	} {
		got, text, err := Remove("m.md", c.text, c.under, []string{"", "- n ", ""})
		if err != nil || got != c.want {
			t.Errorf("%q became %q, not %q: %v", c.text, got, c.want, err)
		}
		if !strings.HasPrefix(text, "--- a/m.md") {
			t.Errorf("%q: patch %q", c.text, text)
		}
	}
	for _, lines := range [][]string{{"- o"}, {"- x", "- n"}, {""}, nil} {
		if _, _, err := Remove("m.md", "## A\n\n- n\n\n- x\n", "## A", lines); !errors.Is(err, ErrNoLine) {
			t.Errorf("%q: %v", lines, err)
		}
	}
	for _, under := range []string{"## B", "- n"} {
		if _, _, err := Remove("m.md", "## A\n\n- n\n", under, []string{"- n"}); !errors.Is(err, ErrNoLine) {
			t.Errorf("under %q: %v", under, err)
		}
	}
}

// TestRemoveStaysInTheSection checks that Remove keeps equal lines below other headings.
func TestRemoveStaysInTheSection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"## A\n\n- m\n\n## B\n\n- n\n", "## A\n# B\n- n\n", "### A\n## B\n- n\n", "## A\n```\nx\n```\n## B\n- n\n"} {
		under, _, _ := strings.Cut(text, "\n")
		if got, _, err := Remove("m.md", text, under, []string{"- n"}); !errors.Is(err, ErrNoLine) {
			t.Errorf("%q became %q: %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"## A\n### B\n- n\n- x\n":                     "## A\n### B\n- x\n",
		"## A\n#tag\n- n\n- x\n":                      "## A\n#tag\n- x\n",
		"## A\n```sh\n# make\n```js\n```\n- n\n- x\n": "## A\n```sh\n# make\n```js\n```\n- x\n",
		"## A\n~~~~\n~~~\n# make\n~~~~~\n- n\n- x\n":  "## A\n~~~~\n~~~\n# make\n~~~~~\n- x\n",
		"## A\n- x\n\n## B\n- n\n\n## A\n- n\n## B\n": "",
	} {
		got, _, err := Remove("m.md", text, "## A", []string{"- n"})
		if want == "" && !errors.Is(err, ErrNoLine) || want != "" && (err != nil || got != want) {
			t.Errorf("%q became %q, not %q: %v", text, got, want, err)
		}
	}
}

// TestRemoveIsTheInverse checks that Remove undoes Insert.
func TestRemoveIsTheInverse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"## A\n\n- x\n", "## A\n- x\n", "## A\n- x", "# T\n\n## A\n\n## B\n"} {
		for _, lines := range [][]string{{"- n"}, {"- n", "", "- m"}, {"## N", "- n"}, {"- n", "## N", "- m"}} {
			with, _, err := Insert("m.md", text, "## A", lines)
			if err != nil {
				t.Fatal(err)
			}
			if got, _, err := Remove("m.md", with, "## A", lines); err != nil || got != text {
				t.Errorf("%q became %q: %v", text, got, err)
			}
		}
	}
}
