package agent

// The tests play recorded conversations of released agents to the drivers. The agent's lines
// are as recorded. What the client sent in a recording is sent by the corresponding call of the
// driver.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/usage"
)

// stage is the host of a driver. It notes the calls it receives.
type stage struct {
	t      testing.TB
	d      Driver
	sent   []string
	calls  []string
	asked  []Request
	talk   Conversation
	models []string     // of the usage reports
	used   usage.Report // the latest report
	fails  error        // what Send returns
}

func newStage(t *testing.T, d Driver, s Start) *stage {
	t.Helper()
	h := &stage{t: t, d: d}
	if s.Version == "" {
		s.Version = "1"
	}
	if s.Dir == "" {
		s.Dir = "/repo"
	}
	if err := d.Start(h, s); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *stage) note(format string, args ...any) {
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
}

func (h *stage) Send(frame []byte) error {
	h.sent = append(h.sent, string(frame))
	return h.fails
}

func (h *stage) HandshakeSucceeded(c Conversation) {
	h.talk = c
	h.note("conversation resumed=%v %s", c.Resumed, c.ResumeError)
}
func (h *stage) HandshakeFailed(b HandshakeFailure) {
	h.note("broke %s again=%v: %s", b.Reason, b.Restart, b.Error)
}
func (h *stage) Accepted(string)               { h.note("accepted") }
func (h *stage) TurnBegan(steer string)        { h.note("turn began for %s", steer) }
func (h *stage) Withdrawn(request string)      { h.note("withdrawn %s", request) }
func (h *stage) SteerTaken(id string, how How) { h.note("steer %s %s", id, how) }
func (h *stage) SteerReturned(id string)       { h.note("steer %s returned", id) }
func (h *stage) SteerRefused(id, why string)   { h.note("steer %s refused: %s", id, why) }
func (h *stage) Cycled(found []usage.Cycle)    { h.note("cycle %s", found[0].Type) }
func (h *stage) TurnEnded(o Outcome) {
	h.note("%s", strings.TrimSpace("turn "+o.Status+" "+o.StopReason+" "+o.Error))
}
func (h *stage) Notice(text string) { h.note("notice %s", text) }
func (h *stage) Used(r usage.Report) {
	h.note("used %s", counted(r))
	h.models, h.used = append(h.models, r.Model), r
}

func (h *stage) Asked(q Request) {
	h.asked = append(h.asked, q)
	wants := []string{}
	for _, w := range q.Accesses {
		wants = append(wants, w.Operation+" "+w.Resource)
	}
	h.note("asked %s: %s", q.Kind, strings.Join(wants, ", "))
}

// counted formats a report: input, cached, output, reasoning, and the cost.
func counted(r usage.Report) string {
	n := func(v *int64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	text := n(r.Input) + "+" + n(r.Cached) + "+" + n(r.Output) + "+" + n(r.Reasoning)
	if r.CostUSD != nil {
		text += fmt.Sprintf(" $%.5f", *r.CostUSD)
	}
	return text
}

// recorded is one frame of a recording.
type recorded struct {
	From string          `json:"from"`
	Msg  json.RawMessage `json:"msg"`
	Text string          `json:"text"`
}

func recording(t testing.TB, name string) (frames []recorded) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		var r recorded
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, r)
	}
	return frames
}

// play plays a recording. act has the driver send what the client sent, unless the driver has
// sent it by itself. The driver's ids may differ from the recorded ones.
func (h *stage) play(frames []recorded, act func(said message)) {
	h.t.Helper()
	ids := map[string]string{}
	seen := 0
	for i, frame := range frames {
		var m message
		decode(frame.Msg, &m)
		if frame.From == "agent" {
			line := frame.Msg
			if m.Method == "" && m.isRequest() {
				line = withID(line, ids[string(m.ID)])
			}
			if line == nil {
				line = json.RawMessage(frame.Text)
			}
			h.d.Line(line)
			continue
		}
		if seen == len(h.sent) {
			act(m)
		}
		if seen == len(h.sent) {
			h.t.Fatalf("frame %d: nothing was sent where the client said %s", i+1, frame.Msg)
		}
		var ours message
		decode([]byte(h.sent[seen]), &ours)
		if ours.Method != m.Method {
			h.t.Fatalf("frame %d: sent %s\nwhere the client said %s", i+1, h.sent[seen], frame.Msg)
		}
		if m.Method == "" && len(m.Result) > 0 {
			if diff := cmp.Diff(plainJSON(m.Result), plainJSON(ours.Result)); diff != "" {
				h.t.Errorf("frame %d: %s", i+1, diff)
			}
		}
		ids[string(m.ID)] = string(ours.ID)
		seen++
	}
}

func plainJSON(text []byte) (v any) {
	decode(text, &v)
	return v
}

// withID replaces the id of an answer with the one that the driver used.
func withID(line json.RawMessage, id string) json.RawMessage {
	members := map[string]json.RawMessage{}
	decode(line, &members)
	members["id"] = json.RawMessage(id)
	text, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return text
}

// told checks which calls the host received.
func (h *stage) told(want ...string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.calls); diff != "" {
		h.t.Error(diff)
	}
}

// line passes lines to the driver.
func (h *stage) line(lines ...string) {
	for _, line := range lines {
		h.d.Line([]byte(line))
	}
}

// last returns the newest frame that was sent.
func (h *stage) last() string {
	if len(h.sent) == 0 {
		return ""
	}
	return h.sent[len(h.sent)-1]
}

// TestAsksAnewInNextTurn checks that the end of a turn closes the agent's requests. Answers to
// them are not sent, and the agent may use their ids again in the next turn.
func TestAsksAnewInNextTurn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begun    func(t *testing.T) *stage
		key, ask string
		end      string
	}{
		"codex": {
			inTurn, "0", `{"method":"item/commandExecution/requestApproval","id":0,"params":{"command":"ls"}}`,
			`{"method":"turn/completed","params":{"threadId":"th","turn":{"id":"tu","status":"completed"}}}`,
		},
		"claude": {
			func(t *testing.T) *stage {
				h := greeted(t, Start{})
				h.prompted()
				return h
			}, "r", `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}`,
			`{"type":"result","subtype":"success","is_error":false}`,
		},
		"acp": {
			func(t *testing.T) *stage {
				h := acpOpened(t, Start{}, "", "")
				h.prompted()
				return h
			}, "0", `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"kind":"execute","title":"ls"}}}`,
			`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := c.begun(t)
			h.line(c.ask, c.end)
			sent := len(h.sent)
			if err := h.d.Answer(c.key, Answer{State: Allowed}); err != nil || len(h.sent) != sent {
				t.Errorf("an answer was sent after the turn: %v", err)
			}
			h.prompted()
			h.line(c.ask)
			if len(h.asked) != 2 {
				t.Errorf("%d requests, %q", len(h.asked), h.calls)
			}
		})
	}
}

// prompted starts a turn.
func (h *stage) prompted() {
	h.t.Helper()
	if err := h.d.Prompt(Prompt{ID: "q", Text: "go"}); err != nil {
		h.t.Error(err)
	}
}
