package workflow_test

import (
	"strings"
	"testing"

	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/runs"
	"ac/runs/budget"
	"ac/workspace/doc"
)

// TestBudgetOfARun checks that all attempts of a run count against its own budget. Work that
// began stays done. The next task is refused, and the run fails with the budget's error. Other
// runs are not affected.
func TestBudgetOfARun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	free := s.start(twoSays, func(w *workflow.Start) { w.Input = "x" })
	s.written(free.RunID, "it is over", over)
	spent := must(budget.NewSums(s.w).Of(budget.Subject{Project: s.project, Workflow: free.RunID})).Workflow
	if spent.Tokens <= 0 {
		t.Fatalf("two tasks spent %+v", spent)
	}
	once := *must(runs.Load(s.w, s.project, attemptOf(s, free, 0))).Usage
	record := s.start(twoSays, func(w *workflow.Start) { w.Input, w.Budget = "x", &doc.Budget{HardTokens: &once.TotalTokens} })
	record = s.written(record.RunID, "it is over", over)
	switch {
	case record.Status != doc.FlowFailed || record.Error == nil:
		t.Fatalf("%s %+v", record.Status, record.Error)
	case len(record.Steps) == 1: // the first one reached the limit by itself
		if got := must(runs.Load(s.w, s.project, attemptOf(s, record, 0))); got.Status != doc.StatusFailed {
			t.Errorf("the first attempt is %s", got.Status)
		}
	case len(record.Steps) != 2 || record.Error.Code != job.CodeRunnerError || !strings.Contains(record.Error.Message, "workflow tokens"):
		t.Errorf("%+v: %+v", record.Error, record.Steps)
	}
	enough := 2*spent.Tokens + 1
	record = s.start(twoSays, func(w *workflow.Start) { w.Input, w.Budget = "x", &doc.Budget{HardTokens: &enough} })
	if record = s.written(record.RunID, "it is over", over); record.Status != doc.FlowSucceeded {
		t.Errorf("with enough: %s %+v", record.Status, record.Error)
	}
	// The template's budget lets nothing begin, but the run's own budget takes precedence.
	none := int64(0)
	record = s.start(task+"\nbudget: {hard_tokens: 0}", func(w *workflow.Start) { w.Input = "x" })
	record = s.written(record.RunID, "it is over", over)
	if record.Status != doc.FlowFailed || s.acts(record.Steps[0].JobID) != 0 {
		t.Errorf("with nothing: %s, %d acts", record.Status, s.acts(record.Steps[0].JobID))
	}
	if got := must(runs.Load(s.w, s.project, record.RunID)).Budget; got == nil || *got.HardTokens != none {
		t.Errorf("the run has the budget %+v", got)
	}
	record = s.start(task+"\nbudget: {hard_tokens: 0}", func(w *workflow.Start) { w.Input, w.Budget = "x", &doc.Budget{HardTokens: &enough} })
	if record = s.written(record.RunID, "it is over", over); record.Status != doc.FlowSucceeded {
		t.Errorf("with its own: %s %+v", record.Status, record.Error)
	}
}

// attemptOf returns the run of a step's last attempt.
func attemptOf(s *stage, record doc.WorkflowRun, step int) string {
	s.t.Helper()
	found := must(job.Load(s.w, s.project, record.Steps[step].JobID))
	return found.Last().RunID
}
