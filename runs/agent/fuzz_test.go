package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// supervisor is a host that behaves like the supervisor of a session, and checks what the
// driver does.
type supervisor struct {
	stage
	begun bool            // the handshake is over
	turn  bool            // a turn is in progress
	open  map[string]bool // the open requests
	n     int             // the number of acts so far
}

func (s *supervisor) Send(frame []byte) error {
	if !json.Valid(frame) || bytes.ContainsAny(frame, "\r\n") {
		s.t.Fatalf("the frame is no line of JSON: %q", frame)
	}
	return nil
}

func (s *supervisor) HandshakeSucceeded(Conversation) {
	if s.begun {
		s.t.Fatal("the handshake ended twice")
	}
	s.begun = true
}

func (s *supervisor) HandshakeFailed(b HandshakeFailure) {
	if b.Reason == "" && !b.Restart {
		s.t.Fatal("a handshake broke for no reason")
	}
	s.HandshakeSucceeded(Conversation{})
	s.begun = false
}

func (s *supervisor) TurnBegan(string) { s.turn = true }

func (s *supervisor) TurnEnded(o Outcome) {
	if o.Status != Completed && o.Status != Interrupted && o.Status != Failed {
		s.t.Fatalf("a turn ended as %q", o.Status)
	}
	s.turn = false
	clear(s.open)
}

func (s *supervisor) Asked(q Request) {
	if q.Kind == "" || q.Key == "" {
		s.t.Fatalf("it asks without a kind or a key: %+v", q)
	}
	if s.open[q.Key] {
		s.t.Fatalf("%s waits already", q.Key)
	}
	s.open[q.Key] = true
}

func (s *supervisor) Withdrawn(request string) { delete(s.open, request) }

// act does what a person or a policy might do.
func (s *supervisor) act(what byte) {
	s.n++
	id := string(rune('a' + s.n%26))
	switch what % 6 {
	case 0:
		if s.begun && !s.turn {
			s.turn = true
			_ = s.d.Prompt(Prompt{ID: id, Text: "do it\nnow"})
		}
	case 1:
		if s.turn {
			_ = s.d.Steer(Prompt{ID: id, Text: "and that"})
		}
	case 2:
		_ = s.d.Interrupt()
	case 3, 4:
		for key := range s.open {
			delete(s.open, key)
			state := Allowed
			if what%6 == 4 {
				state = TimedOut
			}
			_ = s.d.Answer(key, Answer{State: state, Session: what&64 != 0, Answers: map[string][]string{"q": {"x"}}})
			_ = s.d.Answer(key, Answer{State: Denied}) // a second answer is a no-op
			break
		}
	case 5:
		if s.begun {
			_ = s.d.Mode([]string{"plan", "default"}[s.n%2])
		}
	}
}

// FuzzDrivers has an agent send anything at any moment. Nothing panics, each frame is a line of
// JSON, a handshake ends once, and no open request is asked again.
func FuzzDrivers(f *testing.F) {
	for i, name := range []string{"codex-approve", "codex-steer", "claude-allow", "claude-steer-queue", "acp-opencode-allow", "acp-gemini-load", "claude-question", "codex-mcp-tool"} {
		var said strings.Builder
		for _, frame := range recording(f, name) {
			if frame.From == "agent" {
				said.Write(frame.Msg)
				said.WriteByte('\n')
			}
		}
		text := said.String()
		f.Add(byte(map[string]int{"co": 0, "cl": 1, "ac": 2}[name[:2]]+3*(i%2)), []byte{0, 1, 2, 3, 4, 5}, text[:min(len(text), 8<<10)])
	}
	for which, line := range []string{
		`{"method":"item/commandExecution/requestApproval","id":0,"params":{"command":"x"}}`,
		`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`,
		`{"jsonrpc":"2.0","id":"r","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"}}}`,
	} {
		f.Add(byte(which), []byte{}, line+"\n"+line) // the request is open already
	}
	asks := `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"title":"ls"}}}`
	f.Add(byte(2), []byte{0, 2}, strings.Join([]string{ // the second request has the id of one that an interrupt answered
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`, "", `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`, asks, asks,
	}, "\n"))
	f.Add(byte(1), []byte{}, `{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"Bash"}}`) // the request has no id
	f.Fuzz(func(t *testing.T, which byte, acts []byte, said string) {
		if len(said) > 16<<10 {
			return
		}
		drivers := []func() Driver{Codex, Claude, ACP}
		s := &supervisor{stage: stage{t: t, d: drivers[int(which)%3]()}, open: map[string]bool{}}
		start := Start{Version: "1", Dir: "/repo", Model: "m", Mode: "plan", Servers: []Server{{Name: "ac", Command: "ac"}}}
		if which%2 == 1 {
			start.Thread = "thread"
		}
		_ = s.d.Start(s, start)
		for i, line := range strings.Split(said, "\n") {
			s.d.Line([]byte(line))
			if len(acts) > 0 {
				s.act(acts[i%len(acts)])
			}
		}
	})
}
