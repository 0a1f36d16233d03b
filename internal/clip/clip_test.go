package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ac/internal/clip"
)

// TestCutsOnCharacters checks that a piece is as long as possible without splitting a character.
func TestCutsOnCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "n")
		head, tail := clip.Head(text, n), clip.Tail(text, n)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("%q and %q are not the ends of %q", head, tail, text)
		}
		for _, piece := range []string{head, tail} {
			if !utf8.ValidString(piece) || len(piece) > n || (len(text) > n && len(piece) <= n-utf8.UTFMax) || (len(text) <= n && piece != text) {
				t.Fatalf("%q is not %d bytes of %q", piece, n, text)
			}
		}
	})
}
