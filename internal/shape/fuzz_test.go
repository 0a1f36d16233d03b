package shape

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// FuzzCheckID checks that an allowed id is a single path segment.
func FuzzCheckID(f *testing.F) {
	for _, id := range []string{"run_1", "..", "a/b", `a\b`, "a\x00", "é", "...", " ", "\u0085", "a\xff", "-x", "CON"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if CheckID(id) != "" {
			return
		}
		if !filepath.IsLocal(id) || filepath.Base(id) != id || filepath.Join("a", id) != "a/"+id || len(id) > maxIDBytes || !utf8.ValidString(id) {
			t.Fatalf("%q was allowed", id)
		}
		for i := range len(id) {
			if id[i] == os.PathSeparator || id[i] < 0x20 || id[i] == 0x7F {
				t.Fatalf("%q was allowed", id)
			}
		}
	})
}
