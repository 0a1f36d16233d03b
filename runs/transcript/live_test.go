package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conversations returns recordings of both sides, one frame a line, of the releases that the
// package comment names.
func conversations(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/live/*.jsonl")
	if err != nil || len(names) < 25 {
		t.Fatal(names, err)
	}
	return names
}

// recorder makes the log of a conversation. What the agent sent becomes output, and what was
// sent to it becomes the events that a supervisor writes.
type recorder struct {
	t      testing.TB
	events []Event
	driver string
	turn   int
	busy   bool
	open   map[string]bool // open requests, by the agent's id
	steers map[string]bool
}

func logOf(t testing.TB, name string) []Event {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	driver, _, _ := strings.Cut(filepath.Base(name), "-")
	r := &recorder{t: t, driver: driver, open: map[string]bool{}, steers: map[string]bool{}}
	r.event("system", "run.executing", map[string]any{"driver": driver})
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f struct {
			From string          `json:"from"`
			Msg  json.RawMessage `json:"msg"`
			Text string          `json:"text"`
		}
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if f.From == "client" {
			r.sent(f.Msg)
			continue
		}
		line := f.Text
		if f.Msg != nil {
			line = string(f.Msg)
		}
		r.event("agent_A", "provider.raw", map[string]any{"stream": "stdout", "chunk": line + "\n"})
		r.got(f.Msg)
	}
	r.event("system", "run.ended", map[string]any{"exit_code": 0})
	return r.events
}

func (r *recorder) event(actor, kind string, payload map[string]any) {
	text, err := json.Marshal(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	n := len(r.events) + 1
	r.events = append(r.events, Event{fmt.Sprint("evt_", n), kind, actor, "run_1", "local_run_1", moment(n), text})
}

// frame has the fields that the recorder reads, for all protocols.
type frame struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Type   string          `json:"type"`
	Params struct {
		Input  []struct{ Text string } `json:"input"`
		Prompt []struct{ Text string } `json:"prompt"`
		Client string                  `json:"clientUserMessageId"`
		ItemID string                  `json:"itemId"`
		Item   struct {
			Client string `json:"clientId"`
		} `json:"item"`
		Call struct {
			ID string `json:"toolCallId"`
		} `json:"toolCall"`
		Turn struct {
			Status string `json:"status"`
		} `json:"turn"`
	} `json:"params"`
	Result  json.RawMessage `json:"result"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Key     string `json:"request_id"`
	Request struct {
		Subtype string `json:"subtype"`
		Use     string `json:"tool_use_id"`
	} `json:"request"`
	Response struct {
		Key    string `json:"request_id"`
		Answer struct {
			Behavior string `json:"behavior"`
		} `json:"response"`
	} `json:"response"`
	IsError  bool   `json:"is_error"`
	IsReplay bool   `json:"isReplay"`
	Reason   string `json:"terminal_reason"`
}

// frameResult has the fields that the recorder reads from results of either side.
type frameResult struct {
	Decision string `json:"decision"`
	Action   string `json:"action"`
	Outcome  struct {
		Option string `json:"optionId"`
	} `json:"outcome"`
	StopReason string `json:"stopReason"`
}

func (f *frame) result() (r frameResult) {
	_ = json.Unmarshal(f.Result, &r) // fails for claude, whose result is a text
	return r
}

func (r *recorder) say(text string) {
	if r.busy {
		id := fmt.Sprint("steer_", len(r.events))
		r.steers[id] = true
		r.event("human", "run.steer_queued", map[string]any{"steer_id": id, "text": text})
		return
	}
	r.turn, r.busy = r.turn+1, true
	r.event("human", "run.turn_started", map[string]any{"turn": r.turn, "text": text, "steer_ids": []string{}})
}

func (r *recorder) ask(id, item string) {
	r.open[id] = true
	r.event("agent_A", "interaction.requested", map[string]any{"interaction_id": "int_" + id, "kind": "permission", "turn": r.turn, "title": "May it?", "item_id": item})
}

func (r *recorder) answer(id string, allowed bool) {
	if !r.open[id] {
		return
	}
	delete(r.open, id)
	state := "denied"
	if allowed {
		state = "allowed"
	}
	r.event("human", "interaction.resolved", map[string]any{"interaction_id": "int_" + id, "state": state, "by": "human", "reason": "decision"})
}

func (r *recorder) endTurn(status string) {
	r.busy = false
	r.event("system", "run.turn_ended", map[string]any{"turn": r.turn, "status": status})
	var waiting []string
	for id := range r.steers {
		waiting = append(waiting, id)
		delete(r.steers, id)
	}
	if len(waiting) > 0 {
		r.turn, r.busy = r.turn+1, true
		r.event("human", "run.turn_started", map[string]any{"turn": r.turn, "cause": "steer", "text": "", "steer_ids": waiting})
	}
}

// sent logs the events for a frame to the agent.
func (r *recorder) sent(msg []byte) {
	var f frame
	if json.Unmarshal(msg, &f) != nil {
		return
	}
	switch {
	case f.Method == "turn/start" || f.Method == "turn/steer" && r.busy && f.Params.Client != "":
		r.say(f.Params.Input[0].Text)
	case f.Method == "session/prompt":
		r.say(f.Params.Prompt[0].Text)
	case f.Type == "user":
		var text string
		_ = json.Unmarshal(f.Message.Content, &text)
		r.say(text)
	case f.Type == "control_response":
		r.answer(f.Response.Key, f.Response.Answer.Behavior == "allow")
	case f.Method == "" && f.ID != nil:
		result := f.result()
		r.answer(string(f.ID), result.Decision == "accept" || result.Action == "accept" || strings.Contains(result.Outcome.Option, "once"))
	}
}

// got logs the events for a frame of the agent. The frame itself is in the log already.
func (r *recorder) got(msg []byte) {
	var f frame
	if json.Unmarshal(msg, &f) != nil {
		return
	}
	switch {
	case f.ID != nil && f.Method == "session/request_permission":
		r.ask(string(f.ID), f.Params.Call.ID)
	case f.ID != nil && f.Method != "":
		r.ask(string(f.ID), f.Params.ItemID)
	case f.Request.Subtype == "can_use_tool":
		r.ask(f.Key, f.Request.Use)
	case f.Method == "item/started" && f.Params.Item.Client != "" || f.IsReplay:
		for id := range r.steers {
			delete(r.steers, id)
			r.event("system", "run.steer_applied", map[string]any{"steer_id": id, "turn": r.turn, "how": "mid_turn"})
		}
	case f.Type == "control_cancel_request":
		r.event("system", "interaction.resolved", map[string]any{"interaction_id": "int_" + f.Key, "state": "cancelled", "by": "system", "reason": "withdrawn"})
	case f.Method == "turn/completed":
		r.endTurn(f.Params.Turn.Status)
	case f.result().StopReason == "cancelled":
		r.endTurn("interrupted")
	case f.result().StopReason != "":
		r.endTurn("completed")
	case f.Type == "result" && strings.HasPrefix(f.Reason, "aborted"):
		r.endTurn("interrupted")
	case f.Type == "result" && f.IsError:
		r.endTurn("failed")
	case f.Type == "result":
		r.endTurn("completed")
	}
}

// TestConversations compares the transcripts of recorded conversations, with each kind of live
// agent, with golden files.
func TestConversations(t *testing.T) {
	t.Parallel()
	for _, name := range conversations(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			f := NewFold("proj_1")
			for i, e := range logOf(t, name) {
				f.Apply(int64(i+1), e)
			}
			got, golden := shown(f), strings.TrimSuffix(name, ".jsonl")+".txt"
			for _, i := range f.Items() {
				if i.State != StateClosed {
					t.Errorf("%s is open at the end", i.ID)
				}
			}
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
