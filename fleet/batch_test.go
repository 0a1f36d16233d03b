package fleet

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ac/workspace/doc"
)

var payloads = []string{`{}`, `{"text":"a \" \u00e4 \ud800 ö\n","list":[1,[2,{"drafts":null}]],"n":1e9}`, `null`, `"attempt"`, `[]`, `{ "a" : 1 }`}

func drawBatch(t *rapid.T) Batch {
	text := rapid.SampledFrom([]string{"", "a", `"drafts":null`, "ä\"\\", "<&>\u2028"})
	b := Batch{Attempt: text.Draw(t, "attempt"), First: rapid.Int64Range(0, 9).Draw(t, "first"), Generation: rapid.Int64().Draw(t, "generation")}
	for range rapid.IntRange(0, 3).Draw(t, "drafts") {
		d := Draft{
			ID: text.Draw(t, "id"), At: text.Draw(t, "at"), Mono: rapid.Int64().Draw(t, "mono"), Actor: text.Draw(t, "actor"), Vis: text.Draw(t, "vis"),
			Type: text.Draw(t, "type"), Object: text.Draw(t, "object"), Cause: text.Draw(t, "cause"),
		}
		if rapid.Bool().Draw(t, "has a payload") {
			d.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(t, "payload"))
		}
		b.Drafts = append(b.Drafts, d)
	}
	if rapid.Bool().Draw(t, "has a spec") {
		b.Spec = &doc.Spec{Kind: doc.KindCommand, Argv: []string{`"drafts":null`}}
	}
	if rapid.Bool().Draw(t, "has a record") {
		b.Record = &Record{Turn: 3, Activity: text.Draw(t, "activity")}
	}
	return b
}

// TestABatchIsReadAsItWasWritten checks that ParseBatch and encoding/json both read what Append
// wrote.
func TestABatchIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		text, err := b.Append([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		text, ok := bytes.CutPrefix(text, []byte("before"))
		if !ok {
			t.Fatalf("what was there is gone: %s", text)
		}
		var other Batch
		if err := json.Unmarshal(text, &other); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		read, end, err := ParseBatch(text)
		if err != nil || end {
			t.Fatalf("%v, %v: %s", end, err, text)
		}
		if len(other.Drafts) == 0 {
			other.Drafts = nil
		}
		if !reflect.DeepEqual(read, b) || !reflect.DeepEqual(other, b) {
			t.Fatalf("wrote %+v\nread  %+v\njson  %+v\nfrom  %s", b, read, other, text)
		}
	})
}

// TestWhatIsNoBatch checks that ParseBatch rejects invalid batches and recognizes ends. On valid
// ones it agrees with encoding/json.
func TestWhatIsNoBatch(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		`{"attempt":"a","end":true,"n":3,"closing":[{"id":7}],"results":null}`: true,
		`{"attempt":"a","drafts":null,"unknown":[[]]}`:                         true,
		`{"attempt":"\u00e4\ud800","drafts":[{}]}`:                             true,
		`{"attempt":7}`:                       false,
		`{"attempt":"a"`:                      false,
		`{"attempt":"a"} x`:                   false,
		`["attempt"]`:                         false,
		`{"drafts":{}}`:                       false,
		`{"drafts":[[]]}`:                     false,
		`{"drafts":[{"id":7},{"id":"b"}]}`:    false,
		`{"drafts":[{"mono":1.5}]}`:           false,
		`{"drafts":[{"payload":{"a":}}]}`:     false,
		`{"first":"1"}`:                       false,
		`{"end":1}`:                           false,
		``:                                    false,
		strings.Repeat(`{"drafts":[`, 20_000): false,
	} {
		b, end, err := ParseBatch([]byte(text))
		if (err == nil) != valid {
			t.Errorf("%.80s: %v", text, err)
		}
		var other struct {
			Batch
			End bool `json:"end"`
		}
		if known := json.Unmarshal([]byte(text), &other); valid && (known != nil || other.Attempt != b.Attempt || other.End != end || len(other.Drafts) != len(b.Drafts)) {
			t.Errorf("%.80s: read %+v %v, by encoding/json %+v: %v", text, b, end, other, known)
		}
	}
}
