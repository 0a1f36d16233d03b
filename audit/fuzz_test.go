package audit

import (
	"reflect"
	"testing"
)

// FuzzNotes reads any text as a key and as the text of a checkpoint: what is
// taken for a checkpoint says the same when it is written again.
func FuzzNotes(f *testing.F) {
	f.Add("ac-audit/company_x\n3\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n2026-11-20T14:59:44.066Z\n")
	f.Add("ac-audit+00000000+AAAA\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = parseKey("k", []byte(text)) // is one, or an error
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
