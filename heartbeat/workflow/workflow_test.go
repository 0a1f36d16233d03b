package workflow_test

// Workflow runs with real jobs.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/runs/interaction"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

var kills = flag.Int("kills", 8, "how many runners of workflows are killed")

const (
	task    = `{kind: task, agent: {role: worker}, goal: "say {{input}}"}`
	twoSays = `{kind: sequence, steps: [` + task + `, ` + task + `]}`
)

// TestGoesOnByItself runs flows of every kind without advancing them: each runner starts what
// comes after its job.
func TestGoesOnByItself(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for name, test := range map[string]struct{ flow, text string }{
		"sequence":      {twoSays, "[say [say x]]"},
		"parallel":      {`{kind: parallel, separator: " + ", steps: [` + task + `, ` + task + `]}`, "[say x] + [say x]"},
		"cycle":         {`{kind: cycle, cycles: 2, steps: [` + task + `]}`, "[say [say x]]"},
		"maker_checker": {`{kind: maker_checker, maker: {kind: task, agent: {role: worker}, goal: "say {{feedback}}"}, checker: {kind: task, agent: {role: worker}, goal: "judge {{feedback}}"}}`, "[say more]"},
		"supervisor": {`{kind: supervisor, supervisor: {kind: task, agent: {role: worker}, goal: "plan"}, workers: [
  {kind: task, id: one, agent: {role: worker}}, {kind: task, id: two, agent: {role: worker}}]}`, "all done"},
		"continue": {`{kind: sequence, steps: [{kind: task, agent: {role: worker}, goal: "cannot it is late", on_failure: continue}, ` + task + `]}`, "[say [failed: it is late]]"},
	} {
		record := s.start(test.flow, func(w *workflow.Start) { w.Input = "x" })
		record = s.written(record.RunID, "it is over", over)
		if record.Status != doc.FlowSucceeded || record.Text != test.text {
			t.Errorf("%s: %s with %q: %+v", name, record.Status, record.Text, record.Error)
		}
		s.once(record)
	}
}

func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record := s.start(`{kind: sequence, steps: [`+task+`]}`, func(w *workflow.Start) { w.RunID, w.Input = "mine", "x" })
	record = s.written(record.RunID, "it is over", over)
	want := []string{
		"run.started", "policy.decision", "workflow.started", "workflow.step.started", "workflow.step.attempt", "workflow.step.ended", "workflow.ended", "run.ended",
	}
	if diff := cmp.Diff(want, s.events("mine")); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(record.Steps[0].JobID, "job_") || len(record.Steps[0].JobID) != len("job__1")+26 {
		t.Errorf("the job is %s", record.Steps[0].JobID)
	}
	if _, err := s.flows.Run(t.Context(), workflow.Start{
		ProjectID: s.project, RunID: "mine", Template: record.Templates[0], Priority: "normal", Actor: policy.Actor{ID: "human", Role: "human"},
	}); !fault.Is(err, fault.RunExists) {
		t.Errorf("the same run_id again: %v", err)
	}
}

func TestFailureEndsARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record := s.start(`{kind: parallel, steps: [{kind: task, agent: {role: worker}, goal: "wait"}, {kind: task, agent: {role: worker}, goal: "cannot it is late"}]}`)
	record = s.written(record.RunID, "it is over", over)
	if record.Status != doc.FlowFailed || record.Error == nil || record.Error.Code != job.CodeDeclined || record.Error.Step != "2" {
		t.Errorf("%s: %+v", record.Status, record.Error)
	}
	if record.Steps[0].Status != doc.StepCanceled || record.Steps[1].Status != doc.StepFailed {
		t.Errorf("%+v", record.Steps)
	}
	record = s.start(`{kind: task, agent: {name: Nobody}, goal: x}`)
	if record.Status != doc.FlowFailed || record.Error.Code != workflow.CodeUnavailable {
		t.Errorf("without a worker: %s %+v", record.Status, record.Error)
	}
	if types := s.events(record.RunID); types[len(types)-1] != "run.failed" {
		t.Errorf("%v", types)
	}
}

// TestNotEnforced checks that a notice reports what a command cannot enforce, and that a mode
// above the level is refused.
func TestNotEnforced(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record := s.start(`{kind: task, agent: {role: worker}, goal: x, interactive: true, mode: plan}`)
	if types := s.events(record.RunID); !slices.Contains(types, "workflow.notice") {
		t.Errorf("%v", types)
	}
	s.written(record.RunID, "it is over", over)
	text := "{schema_version: 1, type: workflow, id: test:flow, name: Flow, flow: {kind: task, agent: {role: worker}, goal: x, mode: full_auto}}"
	_, err := s.flows.Run(t.Context(), workflow.Start{
		ProjectID: s.project, Template: must(yamldoc.Parse([]byte(text))), Priority: "normal", Actor: policy.Actor{ID: "human", Role: "human"},
	})
	if !fault.Is(err, fault.InvalidParams) {
		t.Errorf("a mode above the level: %v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record := s.start(`{kind: sequence, steps: [{kind: task, agent: {role: worker}, goal: "wait"}, ` + task + `]}`)
	s.looked(record.RunID, "its task is at work", func(r doc.WorkflowRun) bool { return s.acts(r.Steps[0].JobID) == 1 })
	if _, err := s.flows.Cancel(t.Context(), s.project, record.RunID); err != nil {
		t.Fatal(err)
	}
	record = s.written(record.RunID, "it is over", over)
	if record.Status != doc.FlowCanceled || len(record.Steps) != 1 || record.Steps[0].Status != doc.StepCanceled {
		t.Errorf("%s: %+v", record.Status, record.Steps)
	}
	s.once(record)
	if again, err := s.flows.Cancel(t.Context(), s.project, record.RunID); err != nil || again.EndedAt != record.EndedAt {
		t.Errorf("again: %+v (%v)", again, err)
	}
}

// TestQuestion answers a question several times at once. One answer is accepted, and the next
// task receives it.
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	flow := `{kind: sequence, steps: [{kind: input, prompt: "What?\nSay."}, ` + task + `]}`
	record := s.start(flow)
	if record.Status != doc.FlowWaitingInput || record.Steps[0].InteractionID == "" {
		t.Fatalf("%+v", record)
	}
	var sides sync.WaitGroup
	var answered, closed int
	var mu sync.Mutex
	for range 4 {
		sides.Go(func() {
			_, _, err := s.flows.Answer(t.Context(), s.project, record.RunID, record.Steps[0].InteractionID, interaction.Answer{Text: new("that"), By: "human", ByRole: "human"})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered++
			case fault.Is(err, fault.InteractionClosed):
				closed++
			default:
				t.Error(err)
			}
		})
	}
	sides.Wait()
	if answered != 1 || closed != 3 {
		t.Errorf("%d answers stand, %d came too late", answered, closed)
	}
	record = s.written(record.RunID, "it is over", over)
	if record.Text != "[say that]" {
		t.Errorf("%q", record.Text)
	}
	types := s.events(record.RunID)
	for _, kind := range []string{"interaction.requested", "interaction.resolved"} {
		if !slices.Contains(types, kind) {
			t.Errorf("no %s in %v", kind, types)
		}
	}
	// Cancel closes open questions.
	record = s.start(flow)
	record, err := s.flows.Cancel(t.Context(), s.project, record.RunID)
	if err != nil || record.Status != doc.FlowCanceled {
		t.Errorf("%+v (%v)", record, err)
	}
	if types := s.events(record.RunID); !slices.Contains(types, "interaction.resolved") || types[len(types)-1] != "run.stopped" {
		t.Errorf("%v", types)
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record := s.start(`{kind: task, agent: {role: worker}, goal: "say {{input}}", remember: true}`, func(w *workflow.Start) { w.Input = "one" })
	if _, err := s.flows.Continue(t.Context(), workflow.ContinueRequest{ProjectID: s.project, RunID: record.RunID, Input: "x", Actor: policy.Actor{ID: "human", Role: "human"}}); err != nil && !fault.Is(err, fault.RunBusy) {
		t.Error(err)
	}
	record = s.written(record.RunID, "its first round is over", over)
	if _, err := s.say(record.RunID, "mind the gap", ""); err != nil {
		t.Fatal(err)
	}
	before := len(record.Rounds)
	if _, err := s.flows.Continue(t.Context(), workflow.ContinueRequest{ProjectID: s.project, RunID: record.RunID, Input: "two", Actor: policy.Actor{ID: "human", Role: "human"}}); err != nil {
		t.Fatal(err)
	}
	record = s.written(record.RunID, "its next round is over", func(r doc.WorkflowRun) bool { return len(r.Rounds) == before+1 && r.Over() })
	if record.Text != "[say two]" || record.Steer[0].UsedBy != record.Steps[len(record.Steps)-1].Step {
		t.Errorf("%q %+v", record.Text, record.Steer)
	}
	spec := must(job.Load(s.w, s.project, record.Steps[len(record.Steps)-1].JobID)).Job
	for _, part := range []string{"say two\n\n<earlier_calls>\n<call>\n<message>\nsay one\n</message>\n<answer>\n[say one]\n</answer>", "<user_steering>\nmind the gap\n</user_steering>"} {
		if !strings.Contains(spec.Goal, part) {
			t.Errorf("the goal lacks %q:\n%s", part, spec.Goal)
		}
	}
	types := s.events(record.RunID)
	if i := slices.Index(types, "run.continued"); i < 0 || types[i+1] != "workflow.round" {
		t.Errorf("%v", types)
	}
}

// TestWhoLetsWorkInTheRepository checks that a worker can neither start nor continue a run
// whose task may change the repository itself, even with the run's own template.
func TestWhoLetsWorkInTheRepository(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.repository()
	worker := policy.Actor{ID: s.agent, Role: "worker"}
	start := workflow.Start{
		ProjectID: s.project, Priority: "normal", Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationNone}, Actor: worker,
		Template: must(yamldoc.Parse([]byte("{schema_version: 1, type: workflow, id: a:b, name: N, flow: {kind: task, agent: {role: worker}, goal: 'write a.txt', permission_level: patch}}"))),
	}
	if _, err := s.flows.Run(t.Context(), start); !fault.Is(err, fault.Denied) {
		t.Errorf("a worker begins it: %v", err)
	}
	start.Actor = policy.Actor{ID: "human", Role: "human"}
	record := must(s.flows.Run(t.Context(), start))
	s.written(record.RunID, "it is over", over)
	for _, with := range []*shape.Value{nil, &start.Template} {
		if _, err := s.flows.Continue(t.Context(), workflow.ContinueRequest{ProjectID: s.project, RunID: record.RunID, Input: "x", Template: with, Actor: worker}); !fault.Is(err, fault.Denied) {
			t.Errorf("a worker continues it: %v", err)
		}
	}
}

// TestSharedWorktree checks that a run's tasks work in one worktree, from the first that may
// write.
func TestSharedWorktree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	repo := s.repository()
	record := s.start(`{kind: sequence, steps: [`+task+`,
  {kind: task, agent: {role: worker}, goal: "write a.txt", permission_level: patch}, {kind: task, agent: {role: worker}, goal: "write b.txt", permission_level: patch}]}`,
		func(w *workflow.Start) { w.Place = &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationWorktree} })
	record = s.written(record.RunID, "it is over", over)
	run := must(workspace.Load(s.w, doc.RunCodec, workspace.RunFile(s.project, record.RunID)))
	if record.Status != doc.FlowSucceeded || run.WorktreeRel == "" || run.WorktreeBase == "" || run.WorktreeBranch != "ac/"+s.project+"/"+record.RunID+"/"+record.RunID {
		t.Fatalf("%s %+v: %+v", record.Status, record.Error, run)
	}
	if repo, _, _ := run.Tree(); repo != "main" {
		t.Errorf("the worktree is of repository %q", repo)
	}
	if found := must(worktree.Find(s.w, run)); found != filepath.Join(s.w.Dir(), run.WorktreeRel) {
		t.Errorf("its worktree is not found: %q", found)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := os.Stat(filepath.Join(s.w.Dir(), run.WorktreeRel, name)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(repo, name)); err == nil {
			t.Errorf("%s lies in the repository", name)
		}
	}
}

// TestRunnerDiesBeforeTheNextStep kills every runner between the end of its job and the next
// step. Each Advance takes the run one step further, and each step is done once.
func TestRunnerDiesBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.flows.Starter.Executable = s.dyingRunner()
	record := s.start(`{kind: sequence, steps: [`+task+`, `+task+`, `+task+`]}`, func(w *workflow.Start) { w.Input = "x" })
	s.written(record.RunID, "its first job is over", func(r doc.WorkflowRun) bool {
		found, err := job.Load(s.w, s.project, r.Steps[0].JobID)
		return err == nil && found.Over()
	})
	record = s.looked(record.RunID, "it is over", over)
	if record.Status != doc.FlowSucceeded || len(record.Steps) != 3 {
		t.Errorf("%s: %+v", record.Status, record.Steps)
	}
	s.once(record)
}

// TestKilledRunners kills runners at random moments while concurrent callers advance the runs.
// A run ends with every step done once, or as interrupted if a worker was killed at work.
func TestKilledRunners(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: it starts many processes")
	}
	t.Parallel()
	s := newStage(t)
	killed, succeeded := 0, 0
	for killed < *kills {
		record := s.start(`{kind: sequence, steps: [`+task+`, {kind: parallel, steps: [`+task+`, `+task+`]}, `+task+`]}`, func(w *workflow.Start) { w.Input = "x" })
		n := s.killSome(record.RunID, 4)
		record = s.looked(record.RunID, "it is over", over)
		killed += n
		switch {
		case record.Status == doc.FlowSucceeded:
			succeeded++
			s.once(record)
			if len(record.Steps) != 4 {
				t.Errorf("%d steps", len(record.Steps))
			}
		case record.Error == nil || (record.Error.Code != job.CodeInterrupted && record.Error.Code != job.CodeRunnerError):
			t.Errorf("%s: %+v", record.Status, record.Error)
		}
		for _, step := range record.Steps {
			if s.acts(step.JobID) > 1 {
				t.Errorf("step %s was done %d times", step.Step, s.acts(step.JobID))
			}
		}
		if n == 0 && record.Status != doc.FlowSucceeded {
			t.Errorf("nothing was killed, and it is %s: %+v", record.Status, record.Error)
		}
	}
	t.Logf("%d runners were killed; %d runs succeeded all the same", killed, succeeded)
}

// killSome kills up to most runners of a run, until the run is over.
func (s *stage) killSome(run string, most int) (killed int) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.flows.Advance(ctx, s.project, run); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) && !fault.Is(err, fault.Locked) {
					s.t.Log(err) // a runner was killed while Advance waited for it
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	defer lookers.Wait()
	defer cancel()
	for deadline := time.Now().Add(patience); killed < most && time.Now().Before(deadline); {
		record, err := workflow.Load(s.w, s.project, run)
		if err != nil || record.Over() {
			return killed
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) //nolint:gosec // a moment, not a secret
		for _, pid := range s.runners() {
			if killed < most && proc.Kill(pid) == nil {
				killed++
			}
		}
	}
	return killed
}

// runners returns the processes that own jobs of the stage.
func (s *stage) runners() (pids []int) {
	dir := filepath.Join(s.w.Dir(), workspace.JobOwnersDir, s.project)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // there was no job yet
	}
	for _, e := range entries {
		var owner struct {
			PID      int
			Starting bool
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && json.Unmarshal(text, &owner) == nil && !owner.Starting && owner.PID != os.Getpid() {
			pids = append(pids, owner.PID)
		}
	}
	return pids
}
