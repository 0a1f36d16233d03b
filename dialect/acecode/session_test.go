package acecode

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
	"ac/workspace"
)

// order returns the types of frames in their order. Consecutive tokens count once.
func order(list []received) string {
	var kinds []string
	for _, f := range list {
		if n := len(kinds); n == 0 || kinds[n-1] != f.Type || f.Type != "token" && f.Type != "Token" {
			kinds = append(kinds, f.Type)
		}
	}
	return strings.Join(kinds, " ")
}

// TestConversation talks to an agent through a session socket. Events have the documented names
// and rising numbers. A client gets the events it missed replayed, even after the daemon
// restarts.
func TestConversation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("hello there")
	c := s.dial("/ws/sessions/" + id)
	c.hello(id, 0)
	c.await("Done")
	seen := slices.DeleteFunc(slices.Clone(c.got), func(f received) bool { return f.Type == "hello_ack" || f.Type == "agent_progress" })
	if got := order(seen); !strings.HasPrefix(got, "Message session_updated BusyChanged Token") || !strings.HasSuffix(got, "BusyChanged Done") {
		t.Errorf("%s\n%s", got, c.all())
	}
	last := int64(0)
	for _, f := range seen {
		if f.Seq <= last {
			t.Errorf("%d behind %d: %s", f.Seq, last, f.raw)
		}
		last = f.Seq
	}
	c.send(`{"type":"user_input","payload":{"text":"again","client_message_id":"x1"}}`)
	if m := c.await("Message", `"role":"user"`); !strings.Contains(m.raw, `"client_message_id":"x1"`) || m.text("content") != "again" {
		t.Errorf("%s", m.raw)
	}
	c.await("Done")
	mark := c.got[len(c.got)-1].Seq
	s.End()
	s.open()
	c = s.dial("/ws/sessions/any")
	c.hello(id, last)
	var replayed []received
	for _, f := range c.got {
		if f.Seq > 0 {
			replayed = append(replayed, f)
		}
	}
	if len(replayed) == 0 || replayed[len(replayed)-1].Seq != mark || replayed[0].Seq <= last {
		t.Errorf("want from %d to %d:\n%s", last, mark, c.all())
	}
	c.send(`{"type":"user_input","payload":{"text":"third"}}`)
	c.await("Message", `"you said: third"`)
	c.await("Done", `"t3"`)
}

// TestPermission checks how a permission is requested and answered, either by a decision or by
// switching to yolo.
func TestPermission(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	id := s.create("ask make all")
	c := s.dial("/ws/sessions/_multiplex", "Sec-Fetch-Mode", "websocket")
	c.send(`{"type":"subscribe","payload":{"session_id":"` + id + `","since":0}}`)
	c.await("subscribe_ack")
	p := c.await("permission_request")
	if p.text("tool") != "bash" || p.text("command_preview") == "" || fmt.Sprint(p.Payload["options"]) != "[allow deny allow_session]" {
		t.Errorf("%s", p.raw)
	}
	other := s.dial("/ws/sessions/" + id)
	other.hello(id, 0)
	if again := other.await("PermissionRequest"); again.text("request_id") != p.text("request_id") {
		t.Errorf("%s", other.all())
	}
	c.send(`{"type":"decision","payload":{"request_id":"` + p.text("request_id") + `","choice":"maybe"}}`)
	c.await("error", "bad decision")
	c.send(`{"type":"decision","payload":{"session_id":"` + id + `","request_id":"` + p.text("request_id") + `","choice":"allow"}}`)
	if f := c.await("permission_closed"); f.text("choice") != "allow" || f.text("reason") != "decision" {
		t.Errorf("%s", f.raw)
	}
	c.await("tool_end", `"success":true`)
	c.await("message", "answered yes")
	c.await("done", `"completed"`)
	c.send(`{"type":"user_input","payload":{"session_id":"` + id + `","text":"ask make more"}}`)
	c.await("permission_request")
	s.want(http.StatusOK, "PUT", "/api/sessions/"+id+"/permissions", `{"mode":"yolo"}`, nil, `"mode":"yolo"`, "confirm first external file write")
	if f := c.await("permission_closed"); f.text("choice") != "allow" || f.text("reason") != "permission_mode_change" {
		t.Errorf("%s", f.raw)
	}
	c.await("done")
	c.send(`{"type":"user_input","payload":{"session_id":"` + id + `","text":"write /elsewhere/x"}}`)
	if f := c.await("permission_request"); f.text("operation") != "fs_write" {
		t.Errorf("%s", f.raw)
	}
	s.want(http.StatusOK, "GET", "/api/sessions/"+id+"/permissions", "", nil, `"mode":"yolo"`)
	c.send(`{"type":"abort","payload":{"session_id":"` + id + `"}}`)
	if f := c.await("permission_closed"); f.text("choice") != "deny" || f.text("reason") != "abort" {
		t.Errorf("%s", f.raw)
	}
	c.await("done", `"aborted"`)
}

// TestFailedStarts checks that when an agent cannot be started, the session reports the failure
// once and stays usable once the cause is gone.
func TestFailedStarts(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	away := s.Repo + ".away"
	for name, c := range map[string]struct{ breaks, mends func() error }{
		"before it executed":  {func() error { return os.Rename(s.Repo, away) }, func() error { return os.Rename(away, s.Repo) }},
		"its program is gone": {func() error { return os.Rename(s.program, s.program+".away") }, func() error { return os.Rename(s.program+".away", s.program) }},
	} {
		if err := c.breaks(); err != nil {
			t.Fatal(err)
		}
		id := s.create("hello there")
		client := s.dial("/ws/sessions/" + id)
		client.hello(id, 0)
		client.await("Done", `"outcome":"error"`)
		if err := c.mends(); err != nil {
			t.Fatal(err)
		}
		s.want(http.StatusOK, "GET", "/api/sessions", "", nil, `"id":"`+id+`"`)
		s.want(http.StatusAccepted, "POST", "/api/sessions/"+id+"/messages", `{"text":"once more"}`, nil)
		client.await("Message", "you said: once more")
		client.await("Done", `"outcome":"completed"`)
		failures := 0
		for _, f := range client.got {
			if f.Type == "Error" {
				failures++
			}
		}
		if failures != 1 {
			t.Errorf("%s: told %d times\n%s", name, failures, client.all())
		}
	}
}

// TestUnreadableLogs checks that a session with an unreadable log does not hide other sessions.
func TestUnreadableLogs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	whole, damaged := s.create("hello there"), s.create("")
	client := s.dial("/ws/sessions/_multiplex")
	client.send(`{"type":"subscribe","payload":{"session_id":"` + whole + `"}}`)
	dialecttest.Until(t, "the turn is over", func() bool {
		return strings.Contains(s.do("GET", "/api/sessions/"+whole+"/messages", "").text, "you said: hello there")
	})
	log := filepath.Join(s.Dir, workspace.LogFile(s.Project, damaged))
	if err := errors.Join(os.Remove(log), os.Mkdir(log, 0o750)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/sessions", "/api/history"} {
		s.want(http.StatusOK, "GET", path, "", nil, "hello there")
	}
	s.want(http.StatusConflict, "GET", "/api/sessions/"+damaged+"/messages", "", nil, `"error":"io"`)
	client.send(`{"type":"status_subscribe"}`)
	if f := client.await("session_status_snapshot"); !strings.Contains(f.raw, whole) || strings.Contains(f.raw, damaged) {
		t.Error(f.raw)
	}
}
