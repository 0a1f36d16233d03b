//go:build agents

package agentbench

// A client of the ACECode daemon that talks with the real agent CLIs. It answers a question,
// survives a kill of the daemon, and gets missed frames replayed.

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// aceFrame is a frame of the ACECode daemon.
type aceFrame struct {
	Type    string
	Seq     int64
	Payload struct {
		RequestID string `json:"request_id"`
		Tool      string
		Command   string `json:"command_preview"`
		Delta     string
		Success   *bool
		OK        *bool
		Message   json.RawMessage
		Total     int64 `json:"total_tokens"`
	}
}

// tab is a web client's view of a session, over any number of connections.
type tab struct {
	c       *company
	base    *url.URL
	session string
	conn    *websocket.Conn
	last    int64
	seen    map[string]int
	text    strings.Builder
}

// connect connects to a daemon and requests the frames since the last one.
func (b *tab) connect(d *daemon) {
	b.c.t.Helper()
	base, err := url.Parse(d.url)
	if err != nil {
		b.c.t.Fatal(err)
	}
	b.base = base
	if b.session == "" {
		return
	}
	at := *base
	at.Scheme, at.Path = "ws", "/ws/sessions/"+b.session
	b.conn = b.c.dial(at.String())
	b.send("hello", object{"session_id": b.session, "since": b.last})
}

func (b *tab) send(kind string, payload object) {
	b.c.t.Helper()
	text, err := json.Marshal(object{"type": kind, "payload": payload})
	if err == nil {
		err = b.conn.Write(b.c.t.Context(), websocket.MessageText, text)
	}
	if err != nil {
		b.c.t.Fatal(err)
	}
}

// await reads up to a frame of a kind. It checks that the numbers of frames rise.
func (b *tab) await(kind string) aceFrame {
	b.c.t.Helper()
	for {
		_, text, err := b.conn.Read(b.c.t.Context())
		if err != nil {
			b.c.t.Fatalf("no %s: %v; seen %v", kind, err, b.seen)
		}
		var f aceFrame
		if err := json.Unmarshal(text, &f); err != nil {
			b.c.t.Fatalf("%v in %s", err, text)
		}
		if f.Seq > 0 {
			if f.Seq <= b.last {
				b.c.t.Errorf("%d behind %d: %s", f.Seq, b.last, text)
			}
			b.last = f.Seq
		}
		b.seen[f.Type]++
		if f.Type == "Token" {
			b.text.WriteString(f.Payload.Delta)
		}
		if f.Type == "Error" {
			b.c.t.Errorf("%s", text)
		}
		if f.Type == kind {
			return f
		}
	}
}

// call sends an HTTP request.
func (b *tab) call(method, path string, body, into any) {
	b.c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.c.t.Fatal(err)
	}
	at := *b.base
	at.Path, _, _ = strings.Cut(path, "?")
	request, err := http.NewRequestWithContext(b.c.t.Context(), method, at.String(), bytes.NewReader(text))
	if err != nil {
		b.c.t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err = io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		b.c.t.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		b.c.t.Fatalf("%v in %s", err, text)
	}
}

// TestWebClient plays the web client with each agent.
func TestWebClient(t *testing.T) {
	t.Parallel()
	eachLive(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			switch {
			case asks(r, "say banana"):
				return Reply{Text: "banana", Usage: Usage{Input: 30, Output: 2}}
			case r.Step() == 0:
				return Reply{Calls: []Call{{Run: "touch asked.txt && echo made"}}, Usage: Usage{Input: 10, Output: 5}}
			}
			return Reply{Text: "All done.", Usage: Usage{Input: 20, Output: 7}}
		}).asking()
		d := c.daemon("acecode")
		b := &tab{c: c, seen: map[string]int{}}
		b.connect(d)
		var made struct {
			ID string `json:"session_id"`
		}
		b.call("POST", "/api/sessions", object{"initial_user_message": "make a file"}, &made)
		b.session = made.ID
		b.connect(d)
		asked := b.await("PermissionRequest")
		if !strings.Contains(asked.Payload.Command, "touch asked.txt && echo made") {
			t.Errorf("%+v", asked)
		}
		d.end(t, syscall.SIGKILL) // the agent keeps waiting for its answer
		d = c.daemon("acecode")
		b.last-- // so that the daemon sends the question again
		b.connect(d)
		if again := b.await("PermissionRequest"); again.Payload.RequestID != asked.Payload.RequestID {
			t.Errorf("%+v behind %+v", again, asked)
		}
		b.send("decision", object{"request_id": asked.Payload.RequestID, "decision": "allow"})
		b.await("Done")
		if _, err := os.Stat(filepath.Join(c.dir, "asked.txt")); err != nil {
			t.Error(err)
		}
		if got := b.text.String(); !strings.HasSuffix(got, "All done.") {
			t.Errorf("%q", got)
		}
		b.send("user_input", object{"text": "now say banana"})
		b.await("Done")
		if got := b.text.String(); !strings.HasSuffix(got, "banana") {
			t.Errorf("%q", got)
		}
		for _, kind := range []string{"Token", "Message", "ToolStart", "ToolEnd", "Usage", "BusyChanged"} {
			if b.seen[kind] == 0 {
				t.Errorf("no %s in %v", kind, b.seen)
			}
		}
		fresh := &tab{c: c, session: b.session, seen: map[string]int{}}
		fresh.connect(d)
		for fresh.last < b.last {
			fresh.await("Done")
		}
		if fresh.text.String() != b.text.String() || fresh.last != b.last {
			t.Errorf("%q to %d, not %q to %d", fresh.text.String(), fresh.last, b.text.String(), b.last)
		}
		var history struct {
			Messages []struct{ Role, Content string }
		}
		b.call("GET", "/api/sessions/"+b.session+"/messages", nil, &history)
		var roles []string
		for _, m := range history.Messages {
			if m.Role == "user" || m.Role == "assistant" && m.Content != "" {
				roles = append(roles, m.Role+": "+m.Content)
			}
		}
		if got := strings.Join(roles, "\n"); got != "user: make a file\nassistant: All done.\nuser: now say banana\nassistant: banana" {
			t.Errorf("%s", got)
		}
		b.call("DELETE", "/api/sessions/"+b.session, nil, nil)
		var left []struct {
			Ref string `json:"session_ref"`
		}
		for c.call("session.list", object{"status": "running"}, &left); len(left) > 0; c.call("session.list", object{"status": "running"}, &left) {
			time.Sleep(50 * time.Millisecond)
		}
	})
}
