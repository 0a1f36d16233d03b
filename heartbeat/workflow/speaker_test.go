package workflow_test

// Tasks with live agents: people steer them and answer their questions while they work.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/interaction"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

type object = map[string]any

// speak plays an agent that speaks ACP. With the goal "ask" it requests permission to write a
// file twice and answers with the decisions. With "hold" it waits for an interruption. It
// echoes any other prompt.
func speak() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	tell := func(v object) {
		v["jsonrpc"] = "2.0"
		text, _ := json.Marshal(v)
		fmt.Println(string(text))
	}
	var turn json.RawMessage
	asked, told := 0, ""
	ask := func() {
		asked++
		tell(object{"id": asked, "method": "session/request_permission", "params": object{
			"sessionId": "s", "toolCall": object{"toolCallId": fmt.Sprint("t", asked), "kind": "edit", "title": "Write", "locations": []object{{"path": "notes.md"}}},
			"options": []object{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}},
		}})
	}
	answer := func(text, reason string) {
		said, _ := json.Marshal(object{"text": text})
		tell(object{"method": "session/update", "params": object{"sessionId": "s", "update": object{
			"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": string(said)}}}})
		tell(object{"id": turn, "result": object{"stopReason": reason}})
	}
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
			Result struct{ Outcome struct{ OptionID string } }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return err
		}
		switch m.Method {
		case "initialize":
			tell(object{"id": m.ID, "result": object{"protocolVersion": 1, "agentCapabilities": object{}}})
		case "session/new":
			tell(object{"id": m.ID, "result": object{"sessionId": "s"}})
		case "session/cancel":
			answer("stopped", "cancelled")
		case "session/prompt":
			turn, told = m.ID, ""
			switch prompt := m.Params.Prompt[0].Text; {
			case label(prompt, "goal") == "hold":
			case label(prompt, "goal") == "ask":
				ask()
			default:
				answer("said: "+prompt, "end_turn")
			}
		case "":
			if told += m.Result.Outcome.OptionID; asked%2 == 1 {
				ask()
			} else {
				answer(told, "end_turn")
			}
		}
	}
	return nil
}

const spokenTask = `{kind: task, agent: {provider: acp_own}, interactive: true, permission_level: patch, goal: `

// speaker creates an agent that speaks ACP.
func (s *stage) speaker() {
	s.t.Helper()
	id := must(s.w.NewAgent(s.t.Context(), workspace.AgentSpec{Name: "Speaker", Role: "worker", Provider: "acp_own"}))
	file := filepath.Join(s.w.Dir(), workspace.AgentFile(id))
	bin := filepath.Join(s.t.TempDir(), "answerer")
	if err := os.Symlink(must(os.Executable()), bin); err != nil {
		s.t.Fatal(err)
	}
	text := strings.Replace(string(must(os.ReadFile(file))), "launcher: {}", "launcher: {command_argv_template: ["+bin+", --acp]}", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) act(run string) runs.Act {
	return runs.Act{ProjectID: s.project, RunID: run, Actor: policy.Actor{ID: "human", Role: "human"}}
}

func (s *stage) say(run, text, client string) (session.SteerResult, error) {
	return s.flows.Steer(s.t.Context(), s.act(run), session.SteerRequest{Text: text, ClientMessageID: client})
}

// answer answers the open question of a run.
func (s *stage) answer(record doc.WorkflowRun, text string) {
	s.t.Helper()
	i := slices.IndexFunc(record.Steps, func(one doc.FlowStep) bool { return one.Status == doc.StepWaiting })
	_, _, err := s.flows.Answer(s.t.Context(), s.project, record.RunID, record.Steps[i].InteractionID, interaction.Answer{Text: &text, By: "human", ByRole: "human"})
	if err != nil {
		s.t.Fatal(err)
	}
}

// inTurn waits until the agent of a run's step has started a turn, and returns the attempt.
func (s *stage) inTurn(run, step string) (attempt string) {
	s.t.Helper()
	s.written(run, "step "+step+" is in its turn", func(r doc.WorkflowRun) bool {
		for _, one := range r.Steps {
			if found, err := job.Load(s.w, s.project, one.JobID); one.Step == step && err == nil && found.Last() != nil {
				attempt = found.Last().RunID
			}
		}
		return attempt != "" && slices.Contains(s.events(attempt), "run.turn_started")
	})
	return attempt
}

// asks waits for the n-th question of an attempt and returns its id.
func (s *stage) asks(attempt string, n int) (id string) {
	s.t.Helper()
	log := filepath.Join(s.w.Dir(), workspace.LogFile(s.project, attempt))
	s.await(attempt, "it asks", func() (doc.WorkflowRun, error) { return doc.WorkflowRun{}, nil }, func(doc.WorkflowRun) bool {
		var e struct {
			Payload struct {
				ID       string `json:"interaction_id"`
				Workflow struct{ Step string }
			}
		}
		seen := 0
		for line := range strings.Lines(string(must(os.ReadFile(log)))) {
			if strings.Contains(line, `"interaction.requested"`) && json.Unmarshal([]byte(line), &e) == nil {
				if seen++; seen == n && e.Payload.Workflow.Step != "" {
					id = e.Payload.ID
				}
			}
		}
		return id != ""
	})
	return id
}

// TestSteered steers a run before its first task with a live agent, and then the attempt at
// work.
func TestSteered(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.speaker()
	record := s.start(`{kind: sequence, steps: [{kind: input, prompt: Begin}, ` + spokenTask + `hold}, {kind: task, agent: {provider: acp_own}, goal: "last"}]}`)
	first, err := s.say(record.RunID, "mind the gap", "c1")
	if err != nil || first.Delivery != session.DeliveryNextLaunch || first.QueueLength != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	if again, err := s.say(record.RunID, "mind the gap", "c1"); err != nil || again != first {
		t.Errorf("said twice: %+v %v", again, err)
	}
	s.answer(record, "go")
	attempt := s.inTurn(record.RunID, "2")
	second, err := s.flows.Steer(t.Context(), s.act(record.RunID), session.SteerRequest{Text: "rest now", Mode: session.ModeInterrupt})
	if err != nil || second.Delivery != session.DeliveryInterrupt {
		t.Fatalf("%+v %v", second, err)
	}
	record = s.looked(record.RunID, "it is over", over)
	types := s.events(record.RunID)
	if n := strings.Count(strings.Join(types, " "), "run.steer_queued"); n != 2 || len(record.Steer) != 2 || record.Steer[0].UsedBy != "2" {
		t.Errorf("%d texts in the log: %v: %+v", n, types, record.Steer)
	}
	if n := strings.Count(strings.Join(types, " "), "run.steer_applied"); n != 2 {
		t.Errorf("%d texts were applied: %v: %v", n, types, s.events(attempt))
	}
	if prompt := string(must(os.ReadFile(filepath.Join(s.w.Dir(), workspace.RunDir(s.project, attempt), "outputs", "prompt.txt")))); !strings.Contains(prompt, "<user_steering>\nmind the gap\n</user_steering>") {
		t.Errorf("the prompt: %s", prompt)
	}
}

// TestSteeredPastACommand steers a run while a command is at work. A command cannot be steered,
// so the text goes to the next task.
func TestSteeredPastACommand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.speaker()
	record := s.start(`{kind: sequence, steps: [{kind: task, agent: {provider: cmd}, goal: "pause go-on"}, {kind: task, agent: {provider: acp_own}, goal: "last"}]}`)
	s.inTurn(record.RunID, "1")
	said, err := s.say(record.RunID, "mind the gap", "c1")
	if err != nil || said.Delivery != session.DeliveryNextLaunch {
		t.Fatalf("%+v %v", said, err)
	}
	if err := os.WriteFile(filepath.Join(s.w.Dir(), "go-on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record = s.looked(record.RunID, "it is over", over)
	if len(record.Steer) != 1 || record.Steer[0].UsedBy != "2" {
		t.Errorf("%+v", record.Steer)
	}
}

// TestPolicyOfARun checks that an answer for the session in one attempt, and a change of the
// run's policy, both apply to later tasks.
func TestPolicyOfARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.speaker()
	record := s.start(`{kind: sequence, steps: [` + spokenTask + `ask}, ` + spokenTask + `ask}, {kind: input, prompt: Once more, skip_if_given: false}, ` + spokenTask + `ask}]}`)
	attempt := s.inTurn(record.RunID, "1")
	asked := s.asks(attempt, 1)
	act := s.act(record.RunID)
	_, err := runs.Respond(t.Context(), s.w, s.act(attempt), session.AnswerRequest{InteractionID: asked, Decision: "allow", Scope: "session"})
	if err == nil {
		err = s.flows.KeepAnswer(t.Context(), act, attempt)
	}
	if err != nil {
		t.Fatal(err)
	}
	record = s.looked(record.RunID, "it waits for a person", func(r doc.WorkflowRun) bool { return r.Status == doc.FlowWaitingInput })
	if record.Steps[0].Text != "yesyes" || record.Steps[1].Text != "yesyes" || len(record.Rules) != 1 {
		t.Fatalf("%+v %+v", record.Steps, record.Rules)
	}
	none := []doc.PolicyRule{{Operation: doc.OpWrite, Effect: doc.Deny, Glob: "**"}}
	set, err := s.flows.SetPolicy(t.Context(), act, runpolicy.Change{Rules: &none})
	if err != nil || len(set.Policy.Rules) != 1 || set.Policy.Rules[0].Effect != doc.Deny {
		t.Fatalf("%+v %v", set, err)
	}
	s.answer(record, "go")
	record = s.looked(record.RunID, "it is over", over)
	if record.Text != "nono" {
		t.Errorf("%s: %q", record.Status, record.Text)
	}
	if types := s.events(record.RunID); strings.Count(strings.Join(types, " "), "run.policy_changed") != 2 {
		t.Errorf("%v", types)
	}
}

// TestInterruptedTask checks that interrupting a run stops the turn of the attempt at work.
func TestInterruptedTask(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.speaker()
	record := s.start(`{kind: task, agent: {provider: acp_own}, interactive: true, attempts: 1, goal: hold}`)
	attempt := s.inTurn(record.RunID, "1")
	done, err := s.flows.Interrupt(t.Context(), s.act(record.RunID), 0)
	if err != nil || !done.Interrupted || done.Turn != 1 {
		t.Fatalf("%+v %v", done, err)
	}
	record = s.looked(record.RunID, "it is over", over)
	if run := must(runs.Load(s.w, s.project, attempt)); record.Status != doc.FlowFailed || run.Status != doc.StatusStopped {
		t.Errorf("%s, its attempt %s: %+v", record.Status, run.Status, record.Error)
	}
	if _, err := s.flows.Interrupt(t.Context(), s.act(record.RunID), 0); !fault.Is(err, fault.RunNotLive) {
		t.Errorf("%v", err)
	}
}
