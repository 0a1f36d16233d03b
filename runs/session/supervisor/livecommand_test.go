package supervisor_test

// Agents that are commands, with the command line in their own document.

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

// commandAgent creates an agent with a command line, and a run of it.
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

// hearing is commandAgent with the test's program, which prints the prompt it receives.
func (s *stage) hearing() talk {
	return s.commandAgent(s.launcher.Executable, providerCommand, "hear", "--", "{PROMPT}")
}

// ask launches the run with a prompt.
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

// types returns the event types of the log, from the first event of the given type on. It drops
// consecutive repeats.
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

// TestCommandAgent checks that a turn is a process. Its text is in the log before the process
// starts, and in no recorded command line. The next session begins with a digest.
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

// TestCommandAgentWaits checks texts that are sent during a turn. One for after the turn starts
// the next process of the session; others wait for the next session. An interruption ends only
// the current process.
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

// TestCommandAgentEnds checks the status of the session for each way its turn can end.
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

// TestCommandAgentReads checks that the program reads the prompt on stdin if no argument has a
// placeholder for it.
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

// TestCommandAgentRefuses checks that options which a command cannot support are refused. Blank
// prompts, and prompts that the program could take for a flag, are refused as well.
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

// TestCommandAgentDies kills the supervisor of a session. Reconciling the session ends its turn
// and discards the waiting texts.
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

// TestCommandAgentPlaces checks that placeholders in the command line expand to folders of this
// machine, while those in the prompt do not. The recorded command line keeps the placeholders.
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
