package learning

import (
	"strings"
	"testing"

	"ac/workspace/doc"

	"pgregory.net/rapid"
)

func TestGuides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, key string
		want      bool
	}{
		{"- <!-- mistake:a --> [a] R", "a", true},
		{"x <!-- mistake:a --> y <!-- mistake:b -->", "b", true},
		{"- <!-- mistake:ab -->", "a", false},
		{"- <!-- mistake:a -->", "ab", false},
		{"- <!-- mistake:a-->", "a", false},
		{"- <!--mistake:a -->", "a", false},
		{"- <!-- mistake:x <!-- mistake:a -->", "a", false}, // the end of a longer key
		{"- <!-- mistake:x <!-- mistake:a -->", "x <!-- mistake:a", true},
		{"- <!-- mistake:x <!-- mistake:a --> <!-- mistake:a -->", "a", true},
		{"an open <!-- on this line <!-- mistake:a -->", "a", true},
		{"open <!--\n<!-- mistake:a -->\r\n", "a", true},
		{"", "a", false},
	} {
		if got := hasRule([]byte(c.text), c.key); got != c.want {
			t.Errorf("%q guides %q: %v", c.text, c.key, got)
		}
	}
}

func TestRuleLine(t *testing.T) {
	t.Parallel()
	got := ruleLine("k", " one\r\ntwo\nthree <!-- mistake:other --> \u2028", 3)
	if want := "- <!-- mistake:k --> [k] one two three &lt;!-- mistake:other --> (seen 3 times)"; got != want {
		t.Errorf("%q", got)
	}
	if hasRule([]byte(got), "other") {
		t.Error("a rule passes for the marker of another")
	}
}

// TestWithRule inserts a rule into guidance that people formatted in various ways.
func TestWithRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, after string }{
		{"", "## Recurring Mistakes To Avoid\n- r\n"},
		{"# A\n", "# A\n\n## Recurring Mistakes To Avoid\n- r\n"},
		{"# A\n\n", "# A\n\n## Recurring Mistakes To Avoid\n- r\n"},
		{"# A", "# A\n\n## Recurring Mistakes To Avoid\n- r\n"},
		{"# A\r\nb", "# A\r\nb\r\n\r\n## Recurring Mistakes To Avoid\r\n- r\r\n"},
		{"## Recurring Mistakes To Avoid", "## Recurring Mistakes To Avoid\n- r\n"},
		{"## Recurring Mistakes To Avoid  \n<!-- m -->\nrest", "## Recurring Mistakes To Avoid  \n- r\n<!-- m -->\nrest"},
		{"a\r\n## Recurring Mistakes To Avoid\r\nb\r\n", "a\r\n## Recurring Mistakes To Avoid\r\n- r\r\nb\r\n"},
		{"### Recurring Mistakes To Avoid\n", "### Recurring Mistakes To Avoid\n\n## Recurring Mistakes To Avoid\n- r\n"},
	} {
		if got := string(withRule([]byte(c.before), "- r")); got != c.after {
			t.Errorf("%q\n got %q\nwant %q", c.before, got, c.after)
		}
	}
}

func TestWithSection(t *testing.T) {
	t.Parallel()
	const marker, heading = contextMarker, contextHeading
	for _, c := range []struct{ before, after string }{
		{"", heading + "\n" + marker + "\n- a\n"},
		{"# A", "# A\n\n" + heading + "\n" + marker + "\n- a\n"},
		{"# A\n\n" + heading + "\nold\n", "# A\n\n" + heading + "\n" + marker + "\n- a\n"},
		{heading, heading + "\n" + marker + "\n- a\n"},
		{heading + "\nold\n### deeper\n\n## B\nrest", heading + "\n" + marker + "\n- a\n\n## B\nrest\n"},
		{heading + "\nmine\n" + marker + "\nold\n\n\n## B\n", heading + "\nmine\n" + marker + "\n- a\n\n\n## B\n"},
		{heading + "\n\n## B\n", heading + "\n" + marker + "\n- a\n\n## B\n"},
		{marker + "\nold\n", marker + "\n- a\n"},
		{"in a line " + marker + "\n", "in a line " + marker + "\n\n" + heading + "\n" + marker + "\n- a\n"},
		{"x\r\n  " + marker + " \r\nold\r\n## B\r\n", "x\r\n" + marker + "\r\n- a\r\n## B\r\n"},
	} {
		got := string(withSection([]byte(c.before), []string{"- a"}))
		if got != c.after {
			t.Errorf("%q\n got %q\nwant %q", c.before, got, c.after)
		}
		if again := string(withSection([]byte(got), []string{"- a"})); again != got {
			t.Errorf("%q is not kept: %q", got, again)
		}
	}
}

// TestGuidanceKeepsTheRest checks on random texts that adding a rule keeps every other line, and
// that writing the context section is idempotent.
func TestGuidanceKeepsTheRest(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{
		"", "text", "# A", "## B", "### C", doc.MistakesHeading, doc.MistakesMarker, contextHeading, contextMarker, "- <!-- mistake:x --> [x] R",
		"<!--", "-->", " " + contextMarker, "```",
	})
	rapid.Check(t, func(t *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, "lines"), end) + rapid.SampledFrom([]string{"", end}).Draw(t, "last")
		guided := withRule([]byte(text), ruleLine("key", "R", 3))
		if !hasRule(guided, "key") || hasRule([]byte(text), "key") {
			t.Fatalf("%q: %q", text, guided)
		}
		for line := range strings.Lines(text) {
			if !strings.Contains(string(guided), strings.TrimRight(line, "\r\n")) {
				t.Fatalf("%q lost %q: %q", text, line, guided)
			}
		}
		once := withSection(guided, []string{"- a", "- b"})
		if twice := withSection(once, []string{"- a", "- b"}); string(twice) != string(once) {
			t.Fatalf("%q: %q, then %q", guided, once, twice)
		}
		if strings.Count(strings.ReplaceAll(string(once), "\r\n", "\n"), "- a\n- b") != 1 {
			t.Fatalf("%q: %q", guided, once)
		}
	})
}
