package frames

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
)

// TestLongFrames checks that no frame is longer than clients accept, and that a truncated frame
// has the same fields with the same types as the whole one.
func TestLongFrames(t *testing.T) {
	t.Parallel()
	at := Place{"run_1", "hash", "/r"}
	text := strings.Repeat("\x01", 300<<10) // six characters each in JSON
	said := Message{Role: "assistant", Content: text, ID: "m1", Metadata: &metadata{DisplayText: text}}
	many := make([]Message, maxMessages)
	for i := range many {
		many[i] = Message{Role: "user", Content: strings.Repeat("x", 2000), ID: fmt.Sprint("m", i)}
	}
	lines := make([]hunkLine, 50_000)
	for i := range lines {
		lines[i] = hunkLine{lineAdded, "a line of the file", 0, i + 1}
	}
	input := json.RawMessage(`{"command":` + string(dialecttest.Must(json.Marshal(text))) + `,"n":9007199254740993}`)
	for _, f := range []Frame{
		{TypeMessage, 1024, 5, NewMessagePayload(said, at)},
		{typeReplace, 1025, 5, replacePayload{many, at}},
		{typeToolStart, 1026, 5, toolStartPayload{Tool: "bash", Args: input, Place: at}},
		{typeToolEnd, 1027, 5, toolEndPayload{Hunks: []hunk{{1, 0, 1, len(lines), lines}}, Attachments: []struct{}{}, Place: at}},
	} {
		whole := dialecttest.Must(json.Marshal(f.Envelope(at, ShapeDocument)))
		cut := dialecttest.Must(f.Envelope(at, ShapeDocument).Encode())
		if len(whole) <= maxFrame || len(cut) > maxFrame {
			t.Errorf("%s: %d bytes of %d", f.Type, len(cut), len(whole))
		}
		var before, after any
		if err := json.Unmarshal(whole, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(cut, &after); err != nil {
			t.Fatal(err)
		}
		payload := after.(map[string]any)["payload"].(map[string]any)
		if payload["truncated"] != true {
			t.Errorf("%s does not say that it is cut", f.Type)
		}
		delete(payload, "truncated")
		if why := unlike(before, after); why != "" {
			t.Errorf("%s: %s", f.Type, why)
		}
	}
	last := dialecttest.Must(Frame{typeReplace, 1, 5, replacePayload{many, at}}.Envelope(at, ShapeWire).Encode())
	if !strings.Contains(string(last), fmt.Sprintf(`"id":"m%d"`, maxMessages-1)) {
		t.Error("the newest message is left out")
	}
	if short := dialecttest.Must(Frame{typeToolStart, 1, 5, toolStartPayload{Args: input, Place: at}}.Envelope(at, ShapeWire).Encode()); !strings.Contains(string(short), `"n":9007199254740993`) {
		t.Error("a number was changed")
	}
}

// unlike reports where a truncated value has another type than the whole one, or contains
// something that the whole one does not.
func unlike(whole, cut any) string {
	switch w := whole.(type) {
	case map[string]any:
		c, ok := cut.(map[string]any)
		if !ok || len(c) != len(w) {
			return fmt.Sprintf("%.80v became %.80v", whole, cut)
		}
		for name := range w {
			if why := unlike(w[name], c[name]); why != "" {
				return name + ": " + why
			}
		}
	case []any:
		c, ok := cut.([]any)
		if !ok || len(c) > len(w) || len(c) == 0 && len(w) > 0 {
			return fmt.Sprintf("%.80v became %.80v", whole, cut)
		}
		if len(w) == 0 {
			return ""
		}
		from := 0
		if m, is := w[0].(map[string]any); is && m["role"] != nil { // lists of messages keep the newest ones
			from = len(w) - len(c)
		}
		for i := range c {
			if why := unlike(w[from+i], c[i]); why != "" {
				return fmt.Sprint(i, ": ", why)
			}
		}
	case string:
		if c, ok := cut.(string); !ok || len(c) > len(w) || c == "" && w != "" {
			return fmt.Sprintf("%.80q became %.80v", w, cut)
		}
	}
	return ""
}
