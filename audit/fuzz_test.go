package audit

import (
	"reflect"
	"testing"
)

// FuzzNotes parses any text as a key and as a checkpoint. An accepted checkpoint must
// parse to the same value after it is written again.
func FuzzNotes(f *testing.F) {
	f.Add("ac-audit/company_x\n3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n2026-11-20T14:59:44.066Z\n")
	f.Add("ac-audit+00000000+AAAA\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = parseKey("k", []byte(text)) // must not panic
		c, err := parseCheckpoint("c", text)
		if err != nil {
			return
		}
		again, err := parseCheckpoint("c", c.text())
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%q is %+v, and then %+v (%v)", text, c, again, err)
		}
	})
}
