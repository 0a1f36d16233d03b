package xmltext

import (
	"encoding/xml"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEscape checks that Escape agrees with encoding/xml.
func TestEscape(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "é", "\"", "'", "&", "<", ">", "\t", "\n", "\r", "\x00", "\x1b", "\xff", "\xed\xa0\x80", "\uFFFD", "\uFFFE", "\uFFFF", "😀", "]]>"})
		text := strings.Join(rapid.SliceOf(part).Draw(t, "parts"), "")
		var want strings.Builder
		if err := xml.EscapeText(&want, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := Escape(text); got != want.String() {
			t.Fatalf("%q: %q, not %q", text, got, want.String())
		}
	})
}
