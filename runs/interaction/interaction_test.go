package interaction

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// line returns an event by an actor in session s. Its run_id is not r: a record's run comes
// from the caller, not from the event.
func line(t *testing.T, kind, actor, at string, payload any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"schema_version": 1, "type": kind, "run_id": "another", "session_ref": "s", "actor": actor, "ts_wallclock": at, "payload": payload,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func asked(id string) Request {
	expires := "2026-11-22T06:42:17.318Z"
	return Request{
		InteractionID: id, Kind: Permission, Turn: 1, Title: "touch x", Prompt: "The agent wants to run a command.", Tool: "commandExecution",
		Operation: "fs_exec", Resource: "touch x", ArgsPreview: `{"command":"touch x"}`, ItemID: "exec-1", Options: DecisionOptions(true, false),
		RequestedAt: "2026-11-22T06:37:17.318Z", ExpiresAt: &expires, OnTimeout: DenyOnTimeout,
	}
}

const (
	early = "2026-11-22T06:37:17.318Z"
	late  = "2026-11-22T06:38:00.000Z"
)

func TestRecordOfTwoEvents(t *testing.T) {
	t.Parallel()
	request := line(t, "interaction.requested", "agent_A", early, asked("int_1"))
	open, ok := RecordFromLines("p", "r", request, nil)
	want := Record{RunID: "r", ProjectID: "p", SessionRef: "s", AgentID: "agent_A", Request: asked("int_1"), State: Open}
	if diff := cmp.Diff(want, open); !ok || diff != "" {
		t.Errorf("open: %s", diff)
	}
	lost := open.Lost()
	if lost.State != Cancelled || lost.Reason != SessionLost || lost.By != "system" || open.State != Open {
		t.Errorf("lost: %+v", lost)
	}
	done := Resolution{InteractionID: "int_1", Kind: Permission, State: Allowed, Outcome: Outcome{By: "human", ByRole: "human", Scope: Once, OptionID: "allow", Reason: Decision}}
	resolved, ok := RecordFromLines("p", "r", request, line(t, "interaction.resolved", "human", late, done))
	want.State, want.ResolvedAt, want.Outcome = Allowed, late, done.Outcome
	if diff := cmp.Diff(want, resolved); !ok || diff != "" {
		t.Errorf("resolved: %s", diff)
	}
	if resolved.Lost().State != Allowed {
		t.Error("what is resolved was lost")
	}
	text, err := json.Marshal(resolved)
	if err != nil || !strings.Contains(string(text), `"state":"allowed","resolved_at":"`+late+`","by":"human"`) || !strings.Contains(string(text), `"expires_at":"`) {
		t.Errorf("as JSON: %s %v", text, err)
	}
}

func TestFoldKeepsTheFirst(t *testing.T) {
	t.Parallel()
	f := Fold{Project: "p", Run: "r"}
	request := func(id, title string) []byte {
		r := asked(id)
		r.Title = title
		return line(t, "interaction.requested", "agent_A", early, r)
	}
	resolve := func(id, state string) []byte {
		return line(t, "interaction.resolved", "human", late, Resolution{InteractionID: id, Kind: Permission, State: state})
	}
	for i, step := range []struct {
		line []byte
		want string // state of the record that changed
	}{
		{resolve("a", Denied), ""}, {request("a", "first"), Open}, {request("b", "other"), Open}, {request("a", "second"), ""},
		{[]byte(`{"type":"provider.raw","payload":{"interaction_id":"a"}}`), ""}, {[]byte("nonsense"), ""}, {nil, ""},
		{line(t, "interaction.requested", "x", early, "text"), ""}, {line(t, "interaction.requested", "x", early, Request{Kind: Input}), ""},
		{line(t, "interaction.requested", "x", early, Request{InteractionID: "a/b"}), ""},
		{resolve("a", Allowed), Allowed}, {resolve("a", Denied), ""}, {resolve("b", "open"), Cancelled},
	} {
		r := f.Apply(step.line)
		if got := stateOf(r); got != step.want {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
		if r != nil && r.InteractionID == "a" && r.Title != "first" {
			t.Errorf("step %d: the title is %s", i, r.Title)
		}
	}
	if left := f.Open(); len(left) != 0 {
		t.Errorf("open: %+v", left)
	}
}

func stateOf(r *Record) string {
	if r == nil {
		return ""
	}
	return r.State
}

func TestOddPayloadsKeepWhatFits(t *testing.T) {
	t.Parallel()
	f := Fold{Project: "p", Run: "r"}
	r := f.Apply(line(t, "interaction.requested", "agent_A", early, map[string]any{"interaction_id": "i", "kind": "plan", "turn": "two", "title": 7, "options": 1, "more": true}))
	if r == nil || r.Kind != Plan || r.Turn != 0 || r.Title != "" || r.RequestedAt != early {
		t.Errorf("the record is %+v", r)
	}
	if list := f.Open(); len(list) != 1 || list[0].InteractionID != "i" {
		t.Errorf("open: %+v", list)
	}
}

func TestFoldIsBounded(t *testing.T) {
	t.Parallel()
	f := Fold{}
	for i := range maxOpen + 10 {
		f.Apply(line(t, "interaction.requested", "a", early, asked(fmt.Sprint("int_", i))))
	}
	if n := len(f.Open()); n != maxOpen {
		t.Errorf("%d are open", n)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100_000)
	r := Request{Title: long, Prompt: "x" + long, Resource: long, ArgsPreview: long, Diff: "x" + long, Questions: make([]QuestionPart, 9)}.Bounded()
	if n := utf8.RuneCountInString(r.Title); n != MaxTitle {
		t.Errorf("the title has %d characters", n)
	}
	for name, c := range map[string]struct {
		text string
		most int
	}{"prompt": {r.Prompt, MaxPrompt}, "resource": {r.Resource, MaxResource}, "args_preview": {r.ArgsPreview, MaxArgs}, "diff": {r.Diff, MaxDiff}} {
		if len(c.text) > c.most || len(c.text) < c.most-1 || !utf8.ValidString(c.text) {
			t.Errorf("%s has %d bytes", name, len(c.text))
		}
	}
	if len(r.Questions) != MaxQuestions {
		t.Errorf("%d questions", len(r.Questions))
	}
	if short := asked("i"); !cmp.Equal(short, short.Bounded()) {
		t.Error("a request within the bounds was changed")
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte(`{"type":"interaction.requested","payload":{"interaction_id":"i","kind":"input"}}`), []byte(`{"type":"interaction.resolved","payload":{"interaction_id":"i","state":"answered"}}`))
	f.Add([]byte(`{"type":"interaction.requested","payload":{"interaction_id":"i","questions":[{}]}}`), []byte(`{"type":"interaction.resolved","payload":[]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		fold := Fold{}
		opened := fold.Apply(a)
		if opened != nil && (!ValidID(opened.InteractionID) || len(fold.Open()) != 1 || opened.State != Open) {
			t.Fatalf("%+v", opened)
		}
		if done := fold.Apply(b); done != nil && done.State != Open && (opened == nil || done != opened || len(fold.Open()) != 0) {
			t.Fatalf("%+v", done)
		}
	})
}
