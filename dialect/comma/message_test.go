package comma

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
)

// TestMessages checks the members of every message type. A required member must be present, a
// member of the wrong type is refused, an optional one may be absent, and unknown ones are
// ignored.
func TestMessages(t *testing.T) {
	t.Parallel()
	sample := map[kind]any{aText: "x", aFilledText: "x", aFlag: true, someTexts: []string{"x"}, anObject: object{"x": 1}}
	for _, m := range messageTypes() {
		whole := object{"type": m.name, "unknown": 1, "requestId": "r"}
		needed := object{"type": m.name}
		for _, member := range m.members {
			value := sample[member.kind]
			if member.kind == aWord {
				value = member.words[0]
			}
			if whole[member.name] = value; !member.optional {
				needed[member.name] = value
			}
		}
		if m.name == "prepare_run" {
			needed["runId"] = "x"
		}
		for _, fits := range []object{whole, needed} {
			if r, err := readMessage(dialecttest.Must(json.Marshal(fits))); err != nil || r.Type != m.name {
				t.Errorf("%v: %v", fits, err)
			}
		}
		for _, member := range m.members {
			for _, wrong := range []any{nil, 7, "absent"} {
				bad := object{}
				for name, value := range whole {
					bad[name] = value
				}
				if bad[member.name] = wrong; wrong == "absent" {
					delete(bad, member.name)
				}
				_, err := readMessage(dialecttest.Must(json.Marshal(bad)))
				refused := wrong != "absent" || !member.optional
				if (err != nil) != refused || refused && !strings.Contains(err.Error(), member.name+": ") {
					t.Errorf("%s with %v as %s: %v", m.name, wrong, member.name, err)
				}
			}
		}
	}
}

// TestFaults checks the errors for malformed messages.
func TestFaults(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)
	for text, want := range map[string]string{
		`{`:                                 "PARSE_ERROR Invalid JSON",
		`{"type":"ping"} x`:                 "PARSE_ERROR Invalid JSON",
		"{\"type\":\"\xff\"}":               "PARSE_ERROR Invalid JSON",
		deep:                                "PARSE_ERROR Invalid JSON",
		`[1]`:                               "VALIDATION_ERROR Invalid message: : Expected object, received array",
		`null`:                              "VALIDATION_ERROR Invalid message: : Expected object, received null",
		`{}`:                                "VALIDATION_ERROR Invalid message: type: Invalid discriminator value. Expected 'ping' | 'prepare_run' | ",
		`{"type":"start_strategy"}`:         "VALIDATION_ERROR Invalid message: type: Invalid discriminator value. Expected 'ping' | ",
		`{"type":"ping","requestId":null}`:  "VALIDATION_ERROR Invalid message: requestId: Expected string, received null",
		`{"type":"start_run"}`:              "VALIDATION_ERROR Invalid message: runId: Required",
		`{"type":"start_run","runId":""}`:   "VALIDATION_ERROR Invalid message: runId: String must contain at least 1 character(s)",
		`{"type":"continue_run","input":3}`: "VALIDATION_ERROR Invalid message: runId: Required; input: Expected string, received number",
		`{"type":"prepare_run"}`:            "VALIDATION_ERROR Invalid message: strategyPath: prepare_run requires runId or strategyPath",
		`{"type":"permission_decision","runId":"r","permissionRequestId":"p","decision":"maybe"}`:           "VALIDATION_ERROR Invalid message: decision: Invalid enum value. Expected 'allow' | 'deny' | 'allow-session' | 'deny-session', received 'maybe'",
		`{"type":"update_policy","runId":"r","mode":"read","allow":["a",1]}`:                                "VALIDATION_ERROR Invalid message: allow.1: Expected string, received number",
		`{"type":"update_policy","runId":"r","mode":"read","allow":{}}`:                                     "VALIDATION_ERROR Invalid message: allow: Expected array, received object",
		`{"type":"hub_install","name":"n","allowCode":"yes"}`:                                               "VALIDATION_ERROR Invalid message: allowCode: Expected boolean, received string",
		`{"type":"user_input","runId":"r","agentName":"a","text":"` + strings.Repeat("x", maxSaid+1) + `"}`: "VALIDATION_ERROR Invalid message: text: String must contain at most 262144 character(s)",
	} {
		_, err := readMessage([]byte(text))
		why, ok := errors.AsType[*failed](err)
		if !ok || !strings.HasPrefix(why.code+" "+why.message, want) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	r, err := readMessage([]byte(`{"type":"subscribe","runId":"a","runId":"b","RunId":"c","requestId":"1","requestId":"2"}`))
	if err != nil || r.RunID != "b" || *r.RequestID != "2" {
		t.Errorf("of members given twice: %+v %v", r, err)
	}
	if r, err = readMessage([]byte(`{"type":"nothing","requestId":"x"}`)); err == nil || r.RequestID == nil || *r.RequestID != "x" {
		t.Errorf("the request of a fault: %+v", r)
	}
}

// FuzzMessage checks that every message that the parser accepts has a type.
func FuzzMessage(f *testing.F) {
	for _, m := range messageTypes() {
		f.Add(`{"type":"` + m.name + `","runId":"x","allow":["a"],"requestId":"r"}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := readMessage([]byte(text)); err == nil && r.Type == "" {
			t.Errorf("%q has no type", text)
		}
	})
}
