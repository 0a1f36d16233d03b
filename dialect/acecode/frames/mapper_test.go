package frames

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
	"ac/runs/transcript"
)

type object = map[string]any

// logOf generates the log of a run that speaks ACP, with its events in random order.
func logOf(r *rand.Rand, events int) (lines []string) {
	n, turn, calls, asks, steers := 0, 0, 0, 0, 0
	running := false
	add := func(kind string, payload any) {
		n++
		text := dialecttest.Must(json.Marshal(object{
			"type": kind, "event_id": fmt.Sprint("evt_", n), "run_id": "run_1", "actor": "system", "session_ref": "local_run_1",
			"ts_wallclock": fmt.Sprintf("2026-11-20T15:02:%02d.%03dZ", n/1000%60, n%1000), "payload": payload,
		}))
		lines = append(lines, string(text))
	}
	said := func(updates ...object) {
		var b strings.Builder
		for _, u := range updates {
			b.Write(dialecttest.Must(json.Marshal(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": "s", "update": u}})))
			b.WriteByte('\n')
		}
		add("provider.raw", object{"stream": "stdout", "chunk": b.String()})
	}
	chunk := func(kind string) object {
		return object{"sessionUpdate": kind, "content": object{"type": "text", "text": fmt.Sprint("w", n, " ")}}
	}
	add("run.started", object{})
	add("run.executing", object{"driver": "acp"})
	for range events {
		switch r.IntN(14) {
		case 0:
			if !running {
				turn++
				running = true
				add("run.turn_started", object{"turn": turn, "text": fmt.Sprint("do ", turn)})
			}
		case 1:
			if running {
				running = false
				add("run.turn_ended", object{"turn": turn, "status": []string{"completed", "interrupted", "failed"}[r.IntN(3)]})
			}
		case 2, 3, 4:
			said(chunk("agent_message_chunk"), chunk("agent_message_chunk"))
		case 5:
			said(chunk("agent_thought_chunk"))
		case 6, 7:
			calls++
			said(object{"sessionUpdate": "tool_call", "toolCallId": fmt.Sprint("c", calls), "title": "ls", "kind": "execute", "status": "pending"}, chunk("agent_message_chunk"))
		case 8:
			said(object{"sessionUpdate": "tool_call_update", "toolCallId": fmt.Sprint("c", 1+r.IntN(calls+1)), "status": []string{"in_progress", "completed", "failed"}[r.IntN(3)],
				"content": []object{{"type": "content", "content": object{"type": "text", "text": "out\n"}}}})
		case 9:
			asks++
			add("interaction.requested", object{"interaction_id": fmt.Sprint("int_", asks), "kind": []string{"permission", "question"}[asks%2], "turn": turn, "title": "x", "prompt": "x", "expires_at": nil, "on_timeout": "deny"})
		case 10:
			add("interaction.resolved", object{"interaction_id": fmt.Sprint("int_", 1+r.IntN(asks+1)), "state": "denied", "reason": []string{"timeout", "decision", "interrupted"}[r.IntN(3)]})
		case 11:
			add("usage.reported", object{"turn": turn, "total_tokens": n, "input_tokens": n})
		case 12:
			steers++
			add("run.steer_queued", object{"steer_id": fmt.Sprint("steer_", steers), "text": "later", "mode": "after_turn"})
			if r.IntN(2) == 0 {
				add("run.steer_discarded", object{"steer_id": fmt.Sprint("steer_", steers), "reason": "refused", "error": "no"})
			}
		case 13:
			if r.IntN(6) == 0 {
				running = false
				add([]string{"run.failed", "run.ended", "run.stopped"}[r.IntN(3)], object{"error": "it died"})
				add("run.continued", object{"session": 2})
				add("run.executing", object{"driver": "acp"})
			}
		}
	}
	return lines
}

// state returns what a snapshot shows, as JSON.
func (v *View) state() string {
	return string(dialecttest.Must(json.Marshal([]any{v.Messages, v.Events(), v.Busy != nil, v.Todos, v.Title, v.Used})))
}

// restored returns the view that a client builds from a snapshot.
func restored(v *View) *View {
	made := &View{Todos: v.Todos, Summary: v.Summary, Title: v.Title, First: v.First, Used: v.Used, Turns: v.Turns, Count: v.Count, step: v.step}
	for _, m := range v.Messages {
		made.add(m)
		made.Count--
	}
	events := v.Events()
	if v.Busy != nil {
		made.Turns--
	}
	for _, f := range events {
		made.apply(f)
	}
	made.step = v.step
	return made
}

// TestLaws checks invariants of the events of any log. Sequence numbers rise and derive from the
// lines. Events of a turn are ordered; tools and requests begin before they end. A snapshot plus
// the events after it equals a later snapshot.
func TestLaws(t *testing.T) {
	t.Parallel()
	for seed := range uint64(120) {
		lines := logOf(rand.New(rand.NewPCG(seed, 7)), 120)
		m, again := NewMapper(Place{SessionID: "run_1"}, "p"), NewMapper(Place{SessionID: "run_1"}, "p")
		var all []Frame
		cut := int(seed) % len(lines)
		var before *View
		at := 0
		for i, line := range lines {
			made := slices.Clone(m.Take(int64(i+1), []byte(line)))
			if i%7 == 3 {
				m = m.Clone()
			}
			if second := again.Take(int64(i+1), []byte(line)); !reflect.DeepEqual(made, second) && len(made)+len(second) > 0 {
				t.Fatalf("seed %d, line %d: a clone says other things:\n%+v\n%+v", seed, i+1, made, second)
			}
			for k, f := range made {
				if f.Seq != SeqOf(int64(i+1))+int64(k) {
					t.Fatalf("seed %d: %d is event %d of line %d", seed, f.Seq, k, i+1)
				}
			}
			all = append(all, made...)
			if i == cut {
				before, at = restored(m.View), len(all)
			}
		}
		for _, f := range all[at:] {
			before.apply(f)
		}
		if before.state() != m.View.state() {
			t.Fatalf("seed %d: a snapshot at line %d and the rest are not the whole:\n%s\n%s", seed, cut+1, before.state(), m.View.state())
		}
		holdOrder(t, seed, all)
	}
}

// holdOrder checks the order of events.
func holdOrder(t *testing.T, seed uint64, all []Frame) {
	t.Helper()
	busy, tools, drafted := false, map[string]bool{}, ""
	for i, f := range all {
		fail := func(why string) { t.Fatalf("seed %d: %s: %+v\nbehind %+v", seed, why, f, all[max(0, i-3):i]) }
		switch p := f.Payload.(type) {
		case busyPayload:
			busy = p.Busy
			if !p.Busy && len(tools) > 0 {
				fail("a turn ends with tools")
			}
		case donePayload:
			if busy {
				fail("done while busy")
			}
		case TextPayload:
			if f.Type == TypeToken {
				if drafted != "" && drafted != p.ItemID {
					fail("two answers at once")
				}
				drafted = p.ItemID
			}
		case MessagePayload:
			if p.Role == transcript.RoleAssistant {
				drafted = ""
			}
		case replacePayload:
			drafted = ""
		case toolStartPayload:
			if drafted != "" {
				fail("a tool begins in an answer")
			}
			if tools[p.CallID] {
				fail("a tool begins twice")
			}
			tools[p.CallID] = true
		case ToolUpdatePayload:
			if !tools[p.CallID] {
				fail("an update without a start")
			}
		case toolEndPayload:
			if !tools[p.CallID] {
				fail("an end without a start")
			}
			delete(tools, p.CallID)
		case permissionClosedPayload:
			if p.Reason == "timeout" && (i+1 >= len(all) || all[i+1].Type != TypeError) {
				fail("a time-out without its error")
			}
		case errorPayload:
			if busy && p.Code == "permission_timeout" && all[i+1].Type != typeBusy {
				fail("an error that ends the busy state")
			}
		}
	}
}

// TestManyEventsOfOneLine checks that when a line has more events than sequence numbers, the
// whole transcript replaces the last event.
func TestManyEventsOfOneLine(t *testing.T) {
	t.Parallel()
	m := NewMapper(Place{SessionID: "run_1"}, "p")
	m.Take(1, []byte(`{"type":"run.executing","payload":{"driver":"acp"}}`))
	m.Take(2, []byte(`{"type":"run.turn_started","payload":{"turn":1,"text":"x"}}`))
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"ls","kind":"execute","status":"completed"}}}`+"\n", i)
	}
	list := m.Take(3, dialecttest.Must(json.Marshal(object{"type": "provider.raw", "payload": object{"stream": "stdout", "chunk": b.String()}})))
	last := list[len(list)-1]
	if len(list) != PerLine || last.Seq != SeqOf(4)-1 || last.Type != typeReplace {
		t.Fatalf("%d events, the last %d %s", len(list), last.Seq, last.Type)
	}
	if p, _ := last.Payload.(replacePayload); len(p.Messages) != maxMessages {
		t.Errorf("%d messages", len(p.Messages))
	}
	if next := m.Take(4, []byte(`{"type":"run.turn_ended","payload":{"turn":1,"status":"completed"}}`)); next[0].Seq != SeqOf(4) {
		t.Errorf("%+v", next)
	}
}

// FuzzMapper feeds arbitrary lines to a mapper.
func FuzzMapper(f *testing.F) {
	f.Add(strings.Join(logOf(rand.New(rand.NewPCG(1, 1)), 60), "\n"))
	f.Add("null\n{}\n{\"type\":\"run.turn_started\",\"payload\":[]}")
	f.Fuzz(func(t *testing.T, log string) {
		m := NewMapper(Place{SessionID: "run_1"}, "p")
		last := int64(0)
		for i, line := range strings.Split(log, "\n") {
			for _, e := range m.Take(int64(i+1), []byte(line)) {
				if e.Seq <= last || lineOf(e.Seq) != int64(i+1) {
					t.Fatalf("%d behind %d", e.Seq, last)
				}
				last = e.Seq
				if _, err := e.Envelope(m.place, ShapeWire).Encode(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestHunks checks the hunks parsed from a diff.
func TestHunks(t *testing.T) {
	t.Parallel()
	got := hunksOf("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9,0 @@\n---gone\n")
	want := []hunk{
		{1, 2, 1, 2, []hunkLine{{lineContext, "one", 1, 1}, {lineRemoved, "two", 2, 0}, {lineAdded, "2", 0, 2}}},
		{9, 1, 9, 0, []hunkLine{{lineRemoved, "--gone", 9, 0}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestUsageOfATurn checks that each turn has one usage frame with its own numbers. Tokens written
// to a cache count as prompt tokens, and are also reported separately.
func TestUsageOfATurn(t *testing.T) {
	t.Parallel()
	m := NewMapper(Place{SessionID: "run_1"}, "p")
	var got []Tokens
	for i, line := range []string{
		`{"type":"run.executing","payload":{"driver":"claude"}}`,
		`{"type":"run.turn_started","payload":{"turn":1,"text":"x"}}`,
		`{"type":"usage.reported","payload":{"turn":1,"input_tokens":60,"cache_write_tokens":20,"cached_input_tokens":30,"output_tokens":8,"reasoning_output_tokens":2,"total_tokens":100}}`,
		`{"type":"run.turn_ended","payload":{"turn":1,"status":"completed"}}`,
		`{"type":"run.turn_started","payload":{"turn":2,"text":"y"}}`,
		`{"type":"usage.reported","payload":{"turn":2,"input_tokens":70,"cache_write_tokens":25,"cached_input_tokens":60,"output_tokens":10,"reasoning_output_tokens":2,"total_tokens":142}}`,
		`{"type":"run.turn_ended","payload":{"turn":2,"status":"completed"}}`,
	} {
		for _, f := range m.Take(int64(i+1), []byte(line)) {
			if p, ok := f.Payload.(usagePayload); ok {
				got = append(got, p.Tokens)
			}
		}
	}
	want := []Tokens{
		{Prompt: 90, Completion: 10, Total: 100, CacheRead: 30, CacheWrite: 20, Reasoning: 2},
		{Prompt: 40, Completion: 2, Total: 42, CacheRead: 30, CacheWrite: 5},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
