package patch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"
)

func TestInsert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"## A\n\n- x\n", "## A\n\n- n\n\n- x\n"},
		{"## A\n- x\n", "## A\n- n\n\n- x\n"},
		{"## A\n", "## A\n\n- n\n"},
		{"## A\n- x", "## A\n- n\n\n- x"},
		{"## A", "## A\n- n\n"},
		{"## A\n\n", "## A\n\n- n\n\n"},
		{"x\n## A \t\n\n## A\n", "x\n## A \t\n\n- n\n\n## A\n"},
		{"## A\r\n\r\n- x\r\n", "## A\r\n\r\n- n\r\n\r\n- x\r\n"},
		{"## A\r\n- x", "## A\r\n- n\r\n\r\n- x"},
		{"# T\r\n## A", "# T\r\n## A\r\n- n\r\n"},
		{" ## A\n### A\n## a\n## A\n", " ## A\n### A\n## a\n## A\n\n- n\n"},
	} {
		got, text, err := Insert("m.md", c.text, "## A", []string{"- n"})
		if err != nil || got != c.want {
			t.Errorf("%q became %q, not %q: %v", c.text, got, c.want, err)
		}
		if onlyCRLF(c.text) != onlyCRLF(text) || !strings.HasPrefix(text, "--- a/m.md") {
			t.Errorf("%q: patch %q", c.text, text)
		}
	}
	for _, under := range []string{"## B", "## A ", "", "## a"} {
		if _, _, err := Insert("m.md", "## A\n", under, []string{"x"}); !errors.Is(err, ErrNoLine) {
			t.Errorf("under %q: %v", under, err)
		}
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "## A\n- n\n"},
		{"# T\n", "# T\n\n## A\n- n\n"},
		{"# T\n\n", "# T\n\n## A\n- n\n"},
		{"# T", "# T\n\n## A\n- n\n"},
		{"# T\r\nx\r\n", "# T\r\nx\r\n\r\n## A\r\n- n\r\n"},
		{"# T\r\nx", "# T\r\nx\r\n\r\n## A\r\n- n\r\n"},
		{"a\nb\r\nc", "a\nb\r\nc\n\n## A\n- n\n"},
	} {
		got, text, err := Append("m.md", c.text, []string{"## A", "- n"})
		if err != nil || got != c.want {
			t.Errorf("%q became %q, not %q: %v\n%s", c.text, got, c.want, err, text)
		}
	}
}

const head = "--- a/m.md\n+++ b/m.md\n"

func TestRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"diff --git a/x b/x\nindex 1..2 100644\n" + head + "@@ -1 +1,2 @@\n a\n+b\n",
		strings.Repeat("=", 67) + "\n--- m.md\t2026\n+++ m.md\t2026\n@@ -1,1 +1,2 @@ under\n a\n+b\n\n\n",
		head + "@@ -1,2 +1,3 @@\n a\n+b\n\n@@ -9 +10 @@\n-x\n+y\n",
		head + "@@ -1 +1 @@\n---- x\n+--- y\n",
		head + "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
	} {
		if _, err := Read(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "\n", head, "@@ -1 +1 @@\n-a\n+b\n", "--- a\n@@ -1 +1 @@\n-a\n+b\n", "--- a\n",
		head + "@@ -1,2 +1,3 @@\n a\n+b\n",
		head + "@@ -1 +1,2 @@\n a\n b\n+c\n",
		head + "@@ -1 +1,3 @@\n a\n+b\n",
		head + "@@ -1 +1 @@\n a\n",
		head + "@@ -1 +1 @@\n*a\n",
		head + "@@ -x +1 @@\n-a\n+b\n",
		head + "@@ -1,-1 +1 @@\n-a\n+b\n",
		head + "@@ -0 +1 @@\n-a\n+b\n",
		head + "@@ -99999999999999999999 +1 @@\n-a\n+b\n",
		head + "@@ -1 +1\n-a\n+b\n",
		head + "@@ -1 +1 @@\n-a\n+b\nrubbish\n",
		head + "@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n b\n+c\n",
		head + "@@ -1 +1 @@\n-a\n+b\n" + head + "@@ -1 +1 @@\n-a\n+b\n",
		head + "@@ -1 +1 @@\n-a\n+b\ndiff --git a/x b/x\nrename from x\n",
	} {
		if p, err := Read(text); err == nil {
			t.Errorf("%q was read: %+v", text, p)
		}
	}
}

// TestProposalsOfANight applies ten proposals for one heading, all made from the same text. Each
// is placed after the previous ones.
func TestProposalsOfANight(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"- old\n", "## Next\n\n- other\n"} {
		base := "# Memory\n\n## Decisions\n\n" + end
		text, want := base, ""
		for i := range 10 {
			line := fmt.Sprintf("- number %d", i)
			want += line + "\n\n"
			_, diff, err := Insert("memory.md", base, "## Decisions", []string{line})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Read(diff)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Apply(text)
			if err != nil || got.Reanchored != (i > 0) {
				t.Fatalf("%d on %q: %v, %v", i, text, got.Reanchored, err)
			}
			text = got.Text
		}
		if want = "# Memory\n\n## Decisions\n\n" + want + end; text != want {
			t.Errorf("got %q, not %q", text, want)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	insert := head + "@@ -1,3 +1,5 @@\n ## A\n \n+- n\n+\n - x\n"
	for _, c := range []struct {
		patch, text, want string
		reanchored        bool
	}{
		{insert, "## A\n\n- x\n", "## A\n\n- n\n\n- x\n", false},
		{insert, "1\n2\n## A\n\n- x\n", "1\n2\n## A\n\n- n\n\n- x\n", false},
		{insert, "## A\r\n\r\n- x\r\n", "## A\r\n\r\n- n\r\n\r\n- x\r\n", false},
		{strings.ReplaceAll(insert, "\n", "\r\n"), "## A\n\n- x\n", "## A\n\n- n\n\n- x\n", false},
		{insert, "## A\n\n- y\n", "## A\n\n- n\n\n- y\n", true},
		{insert, "## A\n- y\n", "## A\n- n\n\n- y\n", true},
		{insert, "## A\n\n- x", "## A\n\n- n\n\n- x", true},
		{insert, "## A\n", "## A\n- n\n\n", true},
		// After what was inserted below the line since.
		{insert, "## A\n\n- m\n\n- x\n", "## A\n\n- m\n\n- n\n\n- x\n", true},
		{insert, "## A\n\n- m\n\n## B\n\n- x\n", "## A\n\n- n\n\n- m\n\n## B\n\n- x\n", true},
		{head + "@@ -1,3 +1,4 @@\n ## A\n+- n\n \n ## B\n", "## A\n- m\n\n## B\n", "## A\n- m\n- n\n\n## B\n", true},
		// A patch made at the end of a text applies directly after its line.
		{head + "@@ -1 +1,3 @@\n ## A\n+\n+- n\n", "## A\n\n- m\n", "## A\n\n- n\n\n- m\n", false},
		// The nearest match wins. Of two at the same distance, the later one does.
		{head + "@@ -3 +3,2 @@\n a\n+b\n", "1\na\n3\na\n", "1\na\n3\na\nb\n", false},
		{head + "@@ -2 +2,2 @@\n a\n+b\n", "a\n1\n2\na\n", "a\nb\n1\n2\na\n", false},
		{head + "@@ -900 +900,2 @@\n a\n+b\n", "a\na\n", "a\na\nb\n", false},
		// The second hunk moves with the first, and stays after it.
		{head + "@@ -1 +1 @@\n-a\n+b\n@@ -3 +3 @@\n-a\n+c\n", "0\n0\na\n0\na\n", "0\n0\nb\n0\nc\n", false},
		// At the end of the text.
		{head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a", "b\n", false},
		{head + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "x\na\n", "x\nb", false},
		{head + "@@ -0,0 +1 @@\n+a\n", "", "a\n", false},
	} {
		p, err := Read(c.patch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Apply(c.text)
		if err != nil || got.Text != c.want || got.Reanchored != c.reanchored {
			t.Errorf("%q to %q: %q, %v, %v", c.patch, c.text, got.Text, got.Reanchored, err)
		}
	}
	for _, c := range []struct{ patch, text string }{
		{insert, ""}, {insert, "nothing\n"},
		{insert, "## A\n- y\n## A\n"}, // two anchors
		{insert, "## A"},              // nothing can follow it
		{head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a\n"},
		{head + "@@ -1 +1 @@\n-a\n+b\n", "a"},
		{head + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n", "a\nx\n"},
		{head + "@@ -1,2 +1 @@\n ## A\n-x\n", "## A\ny\n"},               // deletions are not reanchored
		{head + "@@ -1,2 +1,4 @@\n+0\n ## A\n+1\n - x\n", "## A\n- y\n"}, // two blocks
		{head + "@@ -1,1 +1,2 @@\n+0\n ## A\n", "## B\n"},                // nothing before the block
		{head + "@@ -1 +1,2 @@\n a\n+b\n@@ -2 +3,2 @@\n c\n+d\n", "a\nx\n"},
		{head + "@@ -1 +1 @@\n-a\n+b\n@@ -2 +2 @@\n-a\n+c\n", "a\n"},
	} {
		p, err := Read(c.patch)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Apply(c.text); !errors.Is(err, ErrConflict) {
			t.Errorf("%q to %q: %q, %v", c.patch, c.text, got.Text, err)
		}
	}
}

// texts generates texts with repeated lines and all kinds of line ends.
func texts() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{"a", "b", "## A", "", "é\u2028`", "--- x", "+++ y", "@@ -1 +1 @@", `\ No newline`, "\r", "\xff"})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		fixed := rapid.SampledFrom([]string{"", "\n", "\r\n"}).Draw(t, "ends")
		for range rapid.IntRange(0, 20).Draw(t, "lines") {
			b.WriteString(part.Draw(t, "part"))
			if fixed != "" {
				b.WriteString(fixed)
			} else {
				b.WriteString(end.Draw(t, "end"))
			}
		}
		if rapid.Bool().Draw(t, "open") {
			b.WriteString(part.Draw(t, "last"))
		}
		return b.String()
	})
}

// TestDiffThenApply checks that a diff of two texts, applied as a patch, yields the second text.
func TestDiffThenApply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := texts().Draw(t, "from"), texts().Draw(t, "to")
		if from == to || onlyCRLF(from) {
			return // a CRLF text accepts only CRLF lines: see Insert
		}
		text := udiff.Unified("a/x", "b/x", from, to)
		p, err := Read(text)
		if err != nil {
			t.Fatalf("%q to %q: %q: %v", from, to, text, err)
		}
		got, err := p.Apply(from)
		if err != nil || got.Text != to || got.Reanchored {
			t.Fatalf("%q: %q became %q, not %q: %v", text, from, got.Text, to, err)
		}
	})
}

// TestInsertedLines checks that Insert adds exactly the lines and one blank line, and keeps CRLF
// texts CRLF.
func TestInsertedLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"n", "", "## A", "- `x`", "```", "\\ No", "+", "-"}), 1, 5).Draw(t, "lines")
		result, _, err := Insert("m.md", text, "## A", lines)
		if errors.Is(err, ErrNoLine) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		before, after := strings.Count(text, "\n"), strings.Count(result, "\n")
		if after != before+len(lines)+1 {
			t.Fatalf("%q became %q", text, result)
		}
		if onlyCRLF(text) && !onlyCRLF(result) {
			t.Fatalf("%q became %q", text, result)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(head+"@@ -1,3 +1,5 @@\n ## A\n \n+- n\n+\n - x\n", "## A\n\n- x\n")
	f.Add(head+"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "a")
	f.Fuzz(func(t *testing.T, patch, text string) {
		p, err := Read(patch)
		if err != nil {
			return
		}
		result, err := p.Apply(text)
		if err != nil {
			return
		}
		diff, err := result.Diff("x")
		if err != nil {
			t.Fatal(err)
		}
		if result.Text == text || onlyCRLF(text) {
			return
		}
		again, err := Read(diff)
		if err != nil {
			t.Fatalf("%q: %v", diff, err)
		}
		if got, err := again.Apply(text); err != nil || got.Text != result.Text {
			t.Fatalf("%q to %q: %q, not %q: %v", diff, text, got.Text, result.Text, err)
		}
	})
}
