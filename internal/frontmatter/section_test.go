package frontmatter

import "testing"

func TestSection(t *testing.T) {
	t.Parallel()
	const body = "# T\n\n## Question\n\nwhy\n### more\nx\n\n## Response\n"
	for heading, want := range map[string]string{"## Question": "\nwhy\n### more\nx\n\n", "## response": "", "## None": ""} {
		got, ok := Section([]byte(body), heading)
		if string(got) != want || ok != (heading != "## None") {
			t.Errorf("%s: %q, %v", heading, got, ok)
		}
	}
	if got, _ := Section([]byte("## A\n```\n## B\n```\nx"), "## A"); string(got) != "```\n## B\n```\nx" {
		t.Errorf("a heading in a code fence ended the section: %q", got)
	}
	if !BlankSection([]byte(body), "## Response") || BlankSection([]byte(body), "## Question") {
		t.Error("blank sections are not known")
	}
}

func TestExtendSection(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"## R\n", "## R\n\nyes\n"},
		{"## R", "## R\n\nyes\n"},
		{"## R\n\none\n", "## R\n\none\n\nyes\n"},
		{"## R\n\none\n\n## N\nx", "## R\n\none\n\nyes\n\n## N\nx"},
		{"a\n## R\n## N\n", "a\n## R\n\nyes\n\n## N\n"},
		{"## R\r\n\r\none\r\n", "## R\r\n\r\none\r\n\r\nyes\r\n"},
	} {
		got, ok := ExtendSection([]byte(c[0]), "## R", []byte("yes\n"))
		if string(got) != c[1] || !ok {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
	if got, ok := ExtendSection([]byte("x"), "## R", []byte("y")); ok || string(got) != "x" {
		t.Errorf("a body without the heading became %q", got)
	}
}
