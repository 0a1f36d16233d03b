package acecode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/dialect/acecode/frames"
	"ac/dialect/dialecttest"

	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
)

// TestFrames checks the answers to frames that start no turn.
func TestFrames(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("")
	c := s.dial("/ws/sessions/anything")
	for _, r := range []struct{ frame, kind, holds string }{
		{`nonsense`, "Error", `"code":"bad_json"`},
		{`[]`, "Error", `"code":"bad_json"`},
		{`{"type":"ping"}`, "pong", `"payload":{}`},
		{`{"type":"user_input","payload":{"text":"x"}}`, "Error", `"reason":"send hello first","code":"hello_required"`},
		{`{"type":"hello","payload":{}}`, "Error", `"code":"missing_session_id"`},
		{`{"type":"hello","payload":{"session_id":"run_none"}}`, "Error", `"code":"unknown_session"`},
		{`{"type":"dance"}`, "Error", `"code":"unknown_type","message":"unknown type: dance","got":"dance"`},
		{`{"type":"status_subscribe","payload":{"workspace_hash":"none"}}`, "Error", `"code":"unknown_workspace"`},
		{`{"type":"mark_session_read","payload":{"session_id":"` + id + `","cursor":7}}`, "mark_session_read_ack", `"state":"read","attention_state":"read","read_state":"read","busy":false,"cursor":0,"update_cursor":0,"read_cursor":0}`},
		{`{"type":"mark_session_unread","payload":{"session_id":"` + id + `","workspace_hash":""}}`, "mark_session_unread_ack", `"state":"unread","attention_state":"read","read_state":"unread","busy":false,"cursor":0,"update_cursor":0,"read_cursor":0}`},
		{`{"type":"mark_session_read","payload":{"session_id":"` + id + `","cursor":7}}`, "mark_session_read_ack", `"state":"read","attention_state":"read","read_state":"read","busy":false,"cursor":0,"update_cursor":0,"read_cursor":0}`},
		{`{"type":"mark_session_unread","payload":{}}`, "Error", `"code":"missing_session_id"`},
		{`{"type":"mark_session_unread","payload":{"session_id":"run_none"}}`, "Error", `"session_id":"run_none"`},
		{`{"type":"hello","payload":{"session_id":"` + id + `"}}`, "hello_ack", `"gap":false`},
		{`{"type":"hello","payload":{"session_id":"` + id + `"}}`, "hello_ack", `"head_seq":0`},
		{`{"type":"decision","payload":{"request_id":"int_none","choice":"allow"}}`, "", ""},
		{`{"type":"decision","payload":{"choice":"allow"}}`, "Error", `"reason":"bad decision"`},
		{`{"type":"question_answer","payload":{}}`, "Error", `"reason":"bad question_answer"`},
		{`{"type":"abort"}`, "", ""},
		{`{"type":"user_input","payload":{"text":" "}}`, "Error", `"session_id":"` + id + `","payload":{"reason":"text or attachments required"`},
		{`{"type":"decision","payload":{"session_id":"` + id + `"}}`, "Error", `"session_id":"` + id + `","payload":{"reason":"bad decision"`},
		{`{"type":"user_input","payload":{"session_id":"run_other","text":"x"}}`, "Error", `"code":"unknown_session"`},
		{`{"type":"unsubscribe","payload":{"session_id":"run_other"}}`, "unsubscribe_ack", `run_other`},
		{`{"type":"unsubscribe","payload":{"session_id":"` + id + `"}}`, "unsubscribe_ack", id},
	} {
		c.send(r.frame)
		if r.kind == "" { // no answer: the next frame read answers the ping
			c.send(`{"type":"ping"}`)
			r.kind = "pong"
		}
		if f := c.read(); f.Type != r.kind || !strings.Contains(f.raw, r.holds) {
			t.Errorf("%s: %s", r.frame, f.raw)
		}
	}
}

// TestStatuses checks that subscribers of a session list receive its changes.
func TestStatuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial("/ws/sessions/_multiplex")
	c.send(`{"type":"status_subscribe","payload":{"workspace_hash":"` + s.server.hash + `"}}`)
	c.await("session_status_snapshot", `"sessions":[]`)
	id := s.create("hold")
	c.await("session_status", id, `"state":"in_progress"`, `"busy":true`)
	c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `"}}`)
	c.await("token", "holding")
	c.send(`{"type":"abort","payload":{"session_id":"` + id + `"}}`)
	c.await("session_status", id, `"state":"read"`, `"busy":false`)
	other := s.dial("/ws/sessions/_multiplex")
	other.send(`{"type":"status_subscribe","payload":{"workspace_hash":"__local__"}}`)
	other.await("session_status_snapshot", id, `"state":"read"`)
	c.send(`{"type":"mark_session_unread","payload":{"session_id":"` + id + `"}}`)
	other.await("session_status", id, `"state":"unread"`)
	c.send(`{"type":"status_unsubscribe","payload":{"workspace_hash":"x"}}`)
	c.await("status_unsubscribe_ack")
}

// TestReadMarks checks a session's cursors. The update cursor is that of its newest event, which
// clients send back. The read cursor never passes the newest event and never moves back.
func TestReadMarks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("")
	c, watcher := s.dial("/ws/sessions/_multiplex"), s.dial("/ws/sessions/_multiplex")
	watcher.send(`{"type":"status_subscribe","payload":{}}`)
	watcher.await("session_status_snapshot", id)
	turn := func(text string) (head int64) {
		s.want(202, "POST", "/api/sessions/"+id+"/messages", `{"text":"`+text+`"}`, nil)
		c.await("done")
		var shown struct {
			Busy bool  `json:"busy"`
			Head int64 `json:"head_seq"`
		}
		s.want(200, "GET", "/api/sessions/"+id+"/messages", "", &shown)
		if shown.Busy {
			t.Fatal("it is busy behind the end of its turn")
		}
		return shown.Head
	}
	c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `","since":0}}`)
	c.await("subscribe_ack")
	first := turn("one")
	mark := func(cursor, head, read int64, state string) {
		t.Helper()
		c.send(fmt.Sprintf(`{"type":"mark_session_read","payload":{"session_id":%q,"workspace_hash":"","cursor":%d}}`, id, cursor))
		want := fmt.Sprintf(`"state":%q,"attention_state":"read","read_state":%q,"busy":false,"cursor":%d,"update_cursor":%d,"read_cursor":%d}`, state, state, head, head, read)
		f := c.await("mark_session_read_ack")
		if !strings.Contains(f.raw, want) || !strings.Contains(f.raw, `"workspace_hash":"`+s.server.hash+`"`) {
			t.Errorf("%d of %d: %s, want %s", cursor, head, f.raw, want)
		}
		watcher.await("session_status", want)
	}
	mark(1024, first, 1024, "unread")
	mark(first, first, first, "read")
	mark(1024, first, first, "read")
	mark(first+1<<40, first, first, "read") // events that do not exist yet cannot be read
	second := turn("two")
	if second <= first {
		t.Fatalf("%d, then %d", first, second)
	}
	mark(1, second, first, "unread")
	mark(second, second, second, "read")
}

// TestQuestions checks that questions can be answered with options or in free text. A cancelled
// question is closed as cancelled, and its turn goes on.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answer, reason, hears string }{
		{"options", `"answers":[{"question_id":%q,"selected":["Red"],"custom_text":"pink"},{"question_id":%q,"selected":["L"]}]`, "answered", "Red, pink"},
		{"texts", `"answers":[{"question_id":%q,"selected":[],"exclusive_text":"pink"},{"question_id":%q,"selected":["L"],"supplement_text":"and tall"}]`, "answered", "Which colour?:pink Which size?:L, and tall"},
		{"cancelled", `"cancelled":true`, "cancelled", "The question was not answered."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.AddClaude()
			var made struct {
				ID string `json:"session_id"`
			}
			s.want(201, "POST", "/api/sessions", `{"initial_user_message":"go","agent_id":"`+s.Agents["Claude"]+`"}`, &made)
			client := s.dial("/ws/sessions/" + made.ID)
			client.hello(made.ID, 0)
			asked := client.await("question_request")
			var p frames.QuestionPayload
			if err := json.Unmarshal(dialecttest.Must(json.Marshal(asked.Payload)), &p); err != nil || len(p.Questions) != 2 || p.Questions[0].Text != "Which colour?" {
				t.Fatalf("%v %s", err, asked.raw)
			}
			answer := c.answer
			if c.reason == "answered" {
				answer = fmt.Sprintf(answer, p.Questions[0].ID, p.Questions[1].ID)
			}
			client.send(`{"type":"question_answer","payload":{"request_id":"` + p.RequestID + `",` + answer + `}}`)
			client.await("question_closed", `"reason":"`+c.reason+`"`)
			plan := client.await("PermissionRequest", "ExitPlanMode")
			client.send(`{"type":"decision","payload":{"request_id":"` + plan.text("request_id") + `","choice":"allow"}}`)
			client.await("Message", `"role":"assistant"`, c.hears)
			client.await("Done", `"outcome":"completed"`)
		})
	}
}

// TestReplayFromStart checks that subscribing again to a followed session with replay_from_start
// replays what the page lacks, in order and once.
func TestReplayFromStart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("")
	c := s.dial("/ws/sessions/_multiplex")
	c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `","since":0}}`)
	c.send(`{"type":"user_input","payload":{"session_id":"` + id + `","text":"one two three"}}`)
	user := c.await("message", `"role":"user"`)
	c.await("done")
	c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `","since":` + fmt.Sprint(user.Seq) + `,"replay_from_start":true}}`)
	last, kinds := user.Seq, []string{}
	for f := c.read(); f.Type != "subscribe_ack"; f = c.read() {
		if f.Seq <= last {
			t.Errorf("%d behind %d: %s", f.Seq, last, f.raw)
		}
		last, kinds = f.Seq, append(kinds, f.Type)
	}
	if got := strings.Join(kinds, " "); !strings.HasPrefix(got, "session_updated busy_changed token") || !strings.HasSuffix(got, "usage busy_changed done") {
		t.Error(got)
	}
	c.send(`{"type":"user_input","payload":{"session_id":"` + id + `","text":"four"}}`)
	c.await("message", "you said: four")
	if f := c.await("done"); f.Seq <= last {
		t.Errorf("%d behind %d", f.Seq, last)
	}
}

// TestDeadAgent checks what clients receive when an agent dies during its turn, and that the next
// text is answered.
func TestDeadAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("die now")
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Error")
	c.await("BusyChanged", `"busy":false`)
	c.await("Done", `"outcome":"error"`)
	c.send(`{"type":"user_input","payload":{"text":"are you there"}}`)
	c.await("Message", `"role":"assistant"`, "are you there")
	c.await("Done", `"t2"`)
}

// TestSlowReader checks that a client that does not read delays no other client, and later
// receives the whole text.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := newStage(t, patient)
	id := s.create("")
	slow, quick := s.dial("/ws/sessions/"+id), s.dial("/ws/sessions/"+id)
	slow.hello(id, 0)
	quick.hello(id, 0)
	text := strings.Repeat("word ", 40_000)
	s.want(202, "POST", "/api/sessions/"+id+"/messages", string(dialecttest.Must(json.Marshal(object{"text": text}))), nil)
	quick.await("Done")
	var got strings.Builder
	for {
		f := slow.read()
		if f.Type == "Token" {
			got.WriteString(f.text("delta"))
		}
		if f.Type == "Done" {
			break
		}
	}
	if want := "you said: " + text; strings.TrimSpace(got.String()) != strings.TrimSpace(want) {
		t.Errorf("%d bytes of %d", got.Len(), len(want))
	}
}

// TestJoined checks that frames queued for a slow client are merged without loss, except for
// outdated states.
func TestJoined(t *testing.T) {
	t.Parallel()
	c := &socket{bound: map[string]*binding{}}
	at := frames.Place{SessionID: "a"}
	for i := range 10 {
		n := int64(i)
		c.join(outgoing{Frame: frames.Frame{Type: frames.TypeToken, Seq: 3*n + 1, At: n, Payload: frames.TextPayload{Text: "x", Delta: "x", ItemID: "1", Place: at}}, at: at})
		c.join(outgoing{Frame: frames.Frame{Type: frames.TypeToolUpdate, Seq: 3*n + 2, At: n, Payload: frames.ToolUpdatePayload{CallID: "c", TotalBytes: n, Place: at}}, at: at})
		c.join(outgoing{Frame: frames.Frame{Type: frames.TypeToken, Seq: 3*n + 3, At: n, Payload: frames.TextPayload{Text: "y", Delta: "y", ItemID: "1", Place: at}}, at: at})
	}
	var text strings.Builder
	updates, bytes := 0, 0
	for i := range c.pending {
		bytes += c.pending[i].weight()
		switch p := c.pending[i].Payload.(type) {
		case frames.TextPayload:
			text.WriteString(p.Text)
		case frames.ToolUpdatePayload:
			if updates++; p.TotalBytes != 9 {
				t.Errorf("%+v", p)
			}
		}
	}
	if text.String() != strings.Repeat("xy", 10) || updates != 1 || bytes != c.bytes {
		t.Errorf("%q, %d updates, %d bytes counted as %d", text.String(), updates, bytes, c.bytes)
	}
}

// TestTakenUp checks that if a listener acknowledged a text and died, the next listener delivers
// it to the agent.
func TestTakenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("")
	log := filepath.Join(s.Dir, "work/projects", s.Project, "runs", id, "events.jsonl")
	s.End()
	// What the dead listener wrote: it died before it could start anything.
	w := dialecttest.Must(workspace.Open(workspace.SystemEnv(), s.Dir))
	run := dialecttest.Must(runs.Load(w, s.Project, id))
	_, draft, err := session.QueueText(w, run, session.SteerRequest{Text: "left behind", Mode: session.ModeAfterTurn, Actor: "human"})
	if err == nil {
		err = w.Append(t.Context(), workspace.LogFile(s.Project, id), draft)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if text := dialecttest.Must(os.ReadFile(log)); !strings.Contains(string(text), "left behind") {
		t.Fatalf("%s", text)
	}
	s.open()
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Message", `"role":"assistant"`, "you said: left behind")
}

// TestGap checks that a client that missed too many events receives a gap notice and none of
// them.
func TestGap(t *testing.T) {
	t.Parallel()
	h := &history{mapper: frames.NewMapper(frames.Place{}, "p")}
	h.take(1, []byte(`{"type":"run.executing","payload":{"driver":"acp"}}`))
	for i := range int64(maxReplay + 10) {
		h.take(i+2, []byte(fmt.Sprintf(`{"type":"run.attached","event_id":"e%d","payload":{"name":"f","size":1}}`, i)))
	}
	if list, gap := h.since(frames.SeqOf(5)); !gap || len(list) != 0 {
		t.Errorf("%d events, gap %v", len(list), gap)
	}
	if list, gap := h.since(h.head() - 1); gap || len(list) != 1 {
		t.Errorf("%d events, gap %v", len(list), gap)
	}
	for _, beyond := range []int64{5, 1<<31 + 5, 1 << 40} { // also more than 32 bits
		if list, _ := h.since(h.head() + beyond); len(list) != 0 {
			t.Errorf("%d events above the head, %d beyond it", len(list), beyond)
		}
	}
	if n := len(h.newest(frames.PerLine)); n != frames.PerLine {
		t.Errorf("%d newest", n)
	}
}
