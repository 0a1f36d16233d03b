package frontmatter

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		record, head, body string
		err                error
	}{
		{"---\na: 1\n---\n\nbody\n", "a: 1\n", "\nbody\n", nil},
		{"---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body", nil},
		{"---\n---\n", "", "", nil},
		{"---\n---", "", "", nil},
		{"---\na: 1\n---\n---\nx", "a: 1\n", "---\nx", nil},
		{"---\na: |\n  ---\n----\n--- \n---\n", "a: |\n  ---\n----\n--- \n", "", nil},
		{"", "", "", ErrMissing},
		{"---", "", "", ErrMissing},
		{"--- \na\n---\n", "", "", ErrMissing},
		{"\n---\na\n---\n", "", "", ErrMissing},
		{"\uFEFF---\na\n---\n", "", "", ErrMissing},
		{"text", "", "", ErrMissing},
		{"---\na: 1\n", "", "", ErrUnclosed},
		{"---\na: 1\n--- x", "", "", ErrUnclosed},
		{"---\n", "", "", ErrUnclosed},
	} {
		head, body, err := Split([]byte(c.record))
		if string(head) != c.head || string(body) != c.body || !errors.Is(err, c.err) {
			t.Errorf("%q: %q, %q, %v", c.record, head, body, err)
		}
	}
}

// TestBodySurvives checks that rewriting a record's head keeps its body.
func TestBodySurvives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := []byte(rapid.StringOf(rapid.SampledFrom([]rune("-\n\r a#é"))).Draw(t, "body"))
		head := []byte(rapid.SampledFrom([]string{"", "a: 1", "a: 1\n", "a: 1\r\n"}).Draw(t, "head"))
		record := Join(head, body)
		_, first, err := Split(record)
		if err != nil {
			t.Fatalf("%q: %v", record, err)
		}
		if !bytes.HasSuffix(first, body) || len(first) > len(body)+1 {
			t.Fatalf("%q became %q", body, first)
		}
		_, again, err := Split(Join([]byte("b: 2\n"), first))
		if err != nil || !bytes.Equal(again, first) {
			t.Fatalf("%q became %q: %v", first, again, err)
		}
	})
}

func TestHasHeading(t *testing.T) {
	t.Parallel()
	body := []byte("x\n  ## Summary \r\n## Other thing\n")
	for heading, want := range map[string]bool{"## summary": true, "## SUMMARY": true, "## Other": false, "# Summary": false} {
		if HasHeading(body, heading) != want {
			t.Errorf("%s: %v", heading, !want)
		}
	}
}
