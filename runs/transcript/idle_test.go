package transcript

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestIdlesAsTheFold compares IsIdle, which reads the end of a log, with a fold of the whole
// log, after each event of all logs.
func TestIdlesAsTheFold(t *testing.T) {
	t.Parallel()
	idle := 0
	for n, log := range logs(t) {
		f := NewBrief("proj_1")
		var text []byte
		for i, e := range log {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			text = append(append(text, line...), '\n')
			f.Apply(int64(i+1), e)
			got, err := IsIdle(bytes.NewReader(text), int64(len(text)))
			want := f.State().Activity == ActivityIdle
			if err != nil || got != want {
				t.Fatalf("log %d, event %d (%s): %v (%v), the fold %q", n, i+1, e.Type, got, err, f.State().Activity)
			}
			if want {
				idle++
			}
		}
	}
	if idle == 0 {
		t.Error("no log has an idle agent")
	}
}
