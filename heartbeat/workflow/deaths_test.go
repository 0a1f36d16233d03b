package workflow_test

// Processes that act on a run die at their file system calls. What they acknowledged stands,
// and the next Advance brings the run to its end.

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/heartbeat/workflow"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

var deaths = flag.Int("deaths", 3, "at how many calls of their file system processes die that act on workflows; 0 for all")

// dies runs act in a simulated process that dies at its n-th file system call. It reports
// whether act was acknowledged, and at which call the process died, if it did.
func (s *stage) dies(n int, act func(workflow.Flows) error) (done bool, hit string) {
	s.t.Helper()
	plan := faultfs.NewPlan(0, faultfs.Death)
	env := workspace.SystemEnv()
	env.OpenFS, env.PID = plan.Open, 1<<30 // a PID that nobody has
	w, err := workspace.Open(env, s.w.Dir())
	if err != nil {
		s.t.Fatal(err)
	}
	plan.Arm(n, faultfs.Death)
	err = act(workflow.Flows{Workspace: w, Starter: s.flows.Starter})
	hit = plan.Hit()
	_ = w.Close() // a dead process closes nothing
	if buried := plan.CloseAll(); buried != nil {
		s.t.Error(buried)
	}
	if err != nil && hit == "" {
		s.t.Errorf("call %d: %v", n, err)
	}
	return err == nil, hit
}

// bury replaces this process's PID in the job owner files with that of a dead process. This
// process stands for one that entered jobs and died before it started them.
func (s *stage) bury() {
	s.t.Helper()
	dir := filepath.Join(s.w.Dir(), workspace.JobOwnersDir, s.project)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is no job
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		text := string(must(os.ReadFile(file)))
		if dead := strings.Replace(text, fmt.Sprintf(`"pid":%d`, os.Getpid()), `"pid":1073741824`, 1); dead != text {
			if err := os.WriteFile(file, []byte(dead), 0o600); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// eachDeath calls try with rising call numbers until one is beyond the last call.
func eachDeath(t *testing.T, try func(n int) (hit string)) {
	t.Helper()
	step := 1
	if *deaths > 0 {
		step = max(1, 60 / *deaths)
	}
	for n := 1; ; n += step {
		if try(n) == "" {
			return
		}
	}
}

const asking = `{kind: sequence, steps: [{kind: input, prompt: What}, ` + task + `]}`

// TestAnswererDies kills the process that answers a question. The answer is recorded once or
// not at all, and the step after it is done once.
func TestAnswererDies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	eachDeath(t, func(n int) string {
		record := s.start(asking)
		id := record.Steps[0].InteractionID
		answer := func(f workflow.Flows) error {
			_, _, err := f.Answer(t.Context(), s.project, record.RunID, id, interaction.Answer{Text: new("that"), By: "human", ByRole: "human"})
			return err
		}
		done, hit := s.dies(n, answer)
		if err := answer(s.flows); done && !fault.Is(err, fault.InteractionClosed) || err != nil && !fault.Is(err, fault.InteractionClosed) {
			t.Errorf("call %d, %s: answered again: %v", n, hit, err)
		} else if err != nil {
			s.bury()
		}
		record = s.looked(record.RunID, "it is over", over)
		if record.Status != doc.FlowSucceeded || record.Text != "[say that]" || len(record.Steps) != 2 {
			t.Errorf("call %d, %s: %s %q %+v", n, hit, record.Status, record.Text, record.Error)
		}
		s.once(record)
		return hit
	})
}

// TestStarterDies kills the process that starts a run. There is a whole run or none.
func TestStarterDies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	text := "{schema_version: 1, type: workflow, id: test:flow, name: Flow, flow: " + task + "}"
	template := must(yamldoc.Parse([]byte(text)))
	human := policy.Actor{ID: "human", Role: "human"}
	eachDeath(t, func(n int) string {
		run := s.w.Env.IDs.New("run")
		start := func(f workflow.Flows) error {
			_, err := f.Run(t.Context(), workflow.Start{ProjectID: s.project, RunID: run, Template: template, Priority: "normal", Input: "x", Actor: human})
			return err
		}
		done, hit := s.dies(n, start)
		if err := start(s.flows); err != nil && !fault.Is(err, fault.RunExists) || done && err == nil {
			t.Errorf("call %d, %s: begun again: %v", n, hit, err)
		} else if err != nil {
			s.bury()
		}
		s.once(s.looked(run, "it is over", over))
		return hit
	})
}

// TestContinuerDies kills the process that starts another round of a run. There is a whole
// round or none.
func TestContinuerDies(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	eachDeath(t, func(n int) string {
		run := s.start(task, func(w *workflow.Start) { w.Input = "x" }).RunID
		s.looked(run, "it is over", over)
		done, hit := s.dies(n, func(f workflow.Flows) error {
			_, err := f.Continue(t.Context(), workflow.ContinueRequest{ProjectID: s.project, RunID: run, Input: "y", Actor: policy.Actor{ID: "human", Role: "human"}})
			return err
		})
		if err := s.w.Update(t.Context(), func(*workspace.Unit) error { return nil }); err != nil { // recovers the journal
			t.Error(err)
		}
		s.bury()
		record := s.looked(run, "it is over", over)
		s.once(record)
		if rounds := len(record.Rounds); rounds != len(record.Steps) || done && rounds != 2 {
			t.Errorf("call %d, %s: %d rounds and %d steps", n, hit, rounds, len(record.Steps))
		}
		if report, err := runs.VerifyLog(s.w, s.project, run); err != nil || len(report.VerificationIssues) > 0 {
			t.Errorf("call %d: %+v %v", n, report, err)
		}
		return hit
	})
}
