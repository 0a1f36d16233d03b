package supervisor_test

// Agents that are commands of their own documents.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// commandAgent makes an agent with a command line, and a run of it.
func (s *stage) commandAgent(words ...string) talk {
	s.t.Helper()
	id, err := s.w.NewAgent(s.ctx, workspace.AgentSpec{Name: "Cora", Role: "worker", Provider: "cmd"})
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.AgentFile(id)))
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	launcher := "launcher:\n  command_argv_template:\n    - '" + strings.Join(words, "'\n    - '") + "'\n"
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "launcher: {}\n", launcher, 1)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	made, err := runs.Create(s.ctx, s.w, s.project, id, "cmd")
	if err != nil {
		s.t.Fatal(err)
	}
	return talk{s, session.Order{ProjectID: s.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID)}}
}

// hearing is commandAgent with the test's program, which prints what it is told.
func (s *stage) hearing() talk {
	return s.commandAgent(s.launcher.Executable, providerCommand, "hear", "--", "{PROMPT}")
}

// ask launches it with a prompt.
func (k talk) ask(prompt string, change func(*runs.LaunchSpec)) error {
	k.t.Helper()
	spec := runs.LaunchSpec{
		ProjectID: k.project, RunID: k.order.RunID, SessionRef: k.order.SessionRef, Prompt: &prompt, Version: "1", Actor: policy.Actor{ID: "human", Role: "human"},
	}
	if change != nil {
		change(&spec)
	}
	return runs.Launch(k.ctx, k.w, runs.NewAdmission(k.w, lane.Limits{Workspace: 4, Provider: 4, Team: 4}), k.launcher, spec)
}

// types are those of the log from an event on.
func (k talk) types(from string) (list []string) {
	for _, e := range parsed(k.log(k.order)) {
		if len(list) > 0 && list[len(list)-1] == e.Type {
			continue
		}
		if e.Type == from || len(list) > 0 {
			list = append(list, e.Type)
		}
	}
	return list
}

// TestCommandAgent: a turn is a process. What is said stands in the log before it starts,
// and in no recorded command line; the next session begins with a digest.
func TestCommandAgent(t *testing.T) {
	t.Parallel()
	k := newStage(t).hearing()
	if err := k.ask("one", nil); err != nil {
		t.Fatal(err)
	}
	if record := k.end(); record.Status != doc.StatusEnded || record.Driver != session.DriverCommand {
		t.Errorf("%+v", record)
	}
	want := []string{
		events.RunExecuting, events.AgentStarted, events.TurnStarted, events.ProviderRaw, events.TurnEnded, events.UsageEstimated, events.RunEnded,
	}
	if got := k.types(events.RunExecuting); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if k.lastMessage() != "heard: one\n" || k.output(k.order, "prompt.txt") != "one" {
		t.Errorf("%q", k.lastMessage())
	}
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil || run.Live.Driver != session.DriverCommand || run.Live.Turns != 1 || !slices.Contains(run.Spec.Argv, "{PROMPT}") {
		t.Errorf("%+v %+v: %v", run.Live, run.Spec, err)
	}
	next, result, err := k.goOn("two", nil)
	if err != nil || result.Resumed != "digest" || result.Session != 2 {
		t.Fatalf("%+v: %v", result, err)
	}
	next.end()
	said := next.lastMessage()
	if !strings.HasPrefix(said, "heard: # What happened so far in run "+k.order.RunID) || !strings.HasSuffix(said, "\n---\ntwo\n") || !strings.Contains(said, "heard: one") {
		t.Errorf("%q", said)
	}
}

// TestCommandAgentWaits: a text with a turn of its own begins the next process of the
// session, others wait for the next session; an interruption ends the process alone.
func TestCommandAgentWaits(t *testing.T) {
	t.Parallel()
	k := newStage(t).hearing()
	if err := k.ask("hold", nil); err != nil {
		t.Fatal(err)
	}
	k.awaitSaid("heard: hold")
	if said := k.say(session.SteerRequest{Text: "later", Mode: session.ModeNextTurn}); said.Delivery != session.DeliveryNextLaunch {
		t.Errorf("%+v", said)
	}
	if said := k.say(session.SteerRequest{Text: "then", Mode: session.ModeAfterTurn}); said.Delivery != session.DeliveryNextTurn {
		t.Errorf("%+v", said)
	}
	done, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{})
	if err != nil || done.Turn != 1 {
		t.Fatalf("%+v: %v", done, err)
	}
	if record := k.end(); record.Status != doc.StatusEnded {
		t.Errorf("%+v", record)
	}
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 1 && p.Status == "interrupted" })
	k.await(events.TurnEnded, func(p payload) bool { return p.Turn == 2 && p.Status == "completed" })
	want := []string{events.TurnEnded, events.RunExecuting, events.AgentStarted, events.TurnStarted, events.SteerApplied, events.ProviderRaw, events.TurnEnded}
	if got := k.types(events.TurnEnded); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%q", got)
	}
	if said := k.lastMessage(); !strings.HasSuffix(said, "\n---\nthen\n") || strings.Contains(said, "later") {
		t.Errorf("%q", said)
	}
	next, result, err := k.goOn("", nil)
	if err != nil || result.Turn != 3 {
		t.Fatalf("%+v: %v", result, err)
	}
	next.end()
	if said := next.lastMessage(); !strings.HasSuffix(said, "\n---\nlater\n") {
		t.Errorf("%q", said)
	}
}

// TestCommandAgentEnds holds the ends of a turn to the status of its session.
func TestCommandAgentEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt string
		end    func(talk)
		status string
		turn   string
		words  string
	}{
		{"fail", func(talk) {}, doc.StatusFailed, "failed", "no such file"},
		{"hold", func(k talk) {
			k.awaitSaid("heard")
			if _, err := session.Interrupt(k.ctx, k.w, k.record(k.order), session.InterruptRequest{}); err != nil {
				k.t.Error(err)
			}
		}, doc.StatusStopped, "interrupted", ""},
		{"hold", func(k talk) { k.awaitSaid("heard"); k.stop() }, doc.StatusStopped, "interrupted", ""},
	} {
		k := newStage(t).hearing()
		if err := k.ask(c.prompt, nil); err != nil {
			t.Fatal(err)
		}
		c.end(k)
		if record := k.end(); record.Status != c.status || c.words != "" && !strings.Contains(record.Error, c.words) {
			t.Errorf("%s: %s %q", c.prompt, record.Status, record.Error)
		}
		k.await(events.TurnEnded, func(p payload) bool { return p.Status == c.turn && strings.Contains(p.Error, c.words) })
	}
}

// TestCommandAgentReads: without a word for it the prompt is the input of the program.
func TestCommandAgentReads(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := s.commandAgent(s.launcher.Executable, providerCommand, "cat")
	if err := k.ask("read this", nil); err != nil {
		t.Fatal(err)
	}
	if record := k.end(); record.Status != doc.StatusEnded || k.lastMessage() != "read this\n" {
		t.Errorf("%+v %q", record, k.lastMessage())
	}
}

// TestCommandAgentRefuses: what nothing enforces is refused, and so is a text that the
// command line could take for something else.
func TestCommandAgentRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	k := s.commandAgent(s.launcher.Executable, providerCommand, "hear", "{PROMPT}")
	if err := k.ask("--help", nil); !fault.Is(err, fault.Unsupported) {
		t.Error(err)
	}
	if err := k.ask("go", func(l *runs.LaunchSpec) { l.Live.KeepOpen = new(true) }); !fault.Is(err, fault.InvalidParams) {
		t.Error(err)
	}
	if err := k.ask(" ", nil); !fault.Is(err, fault.InvalidParams) {
		t.Error(err)
	}
	if err := k.ask("go", nil); err != nil {
		t.Fatal(err)
	}
	k.end()
	if _, _, err := k.goOn("more", func(c *runs.ContinueSpec) { c.Resume = runs.ResumeProvider }); !fault.Is(err, fault.ResumeFailed) {
		t.Error(err)
	}
}

// TestCommandAgentDies: who reconciles the session of a supervisor that was killed ends
// its turn, and what waited.
func TestCommandAgentDies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter, s.torn = true, true
	k := s.hearing()
	if err := k.ask("hold", nil); err != nil {
		t.Fatal(err)
	}
	k.awaitSaid("heard")
	k.say(session.SteerRequest{Text: "then", Mode: session.ModeAfterTurn})
	s.kill(*k.record(k.order).OwnerPID)
	k.end()
	k.await(events.TurnEnded, func(p payload) bool { return p.Status == "lost" })
	k.await(events.SteerDiscarded, func(p payload) bool { return p.Reason == "session_lost" })
	if next, _, err := k.goOn("again", nil); err != nil {
		t.Error(err)
	} else {
		next.end()
	}
}

// TestCommandAgentPlaces: marks in the template are the folders of this machine, and what is
// said stays as it is. Recorded command lines have the marks.
func TestCommandAgentPlaces(t *testing.T) {
	t.Parallel()
	k := newStage(t).commandAgent("echo", "--out=@{outputs}/x", "--context=@{context}", "--", "{PROMPT}")
	if err := k.ask("write to @{outputs}", nil); err != nil {
		t.Fatal(err)
	}
	k.end()
	run, err := runs.Load(k.w, k.project, k.order.RunID)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(k.w.Dir(), "work", "projects", k.project)
	want := "--out=" + filepath.Join(dir, "runs", k.order.RunID, "outputs", "x") + " --context=" + filepath.Join(dir, "context_packs", run.ContextPackID, "bundle") + " -- write to @{outputs}\n"
	if got := k.lastMessage(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Contains(run.Spec.Argv, "--out=@{outputs}/x") {
		t.Errorf("recorded: %q", run.Spec.Argv)
	}
}
