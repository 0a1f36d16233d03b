package comma

// Steps of a run: entries of the nodes directly below the root of the flow, and the end of a round.

import (
	"context"
	"strings"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/heartbeat/workflow"
	"ac/workspace/doc"
)

// walk sends the steps that were entered or left since its last call.
func (f *subscription) walk() error {
	v, err := f.view(f.round)
	if err != nil {
		return err
	}
	list, err := f.passages()
	if err != nil {
		return err
	}
	outer := 1
	if root := v.nodes.Root; root.Task != nil || root.Ask != nil {
		outer = 0
	}
	for i, p := range list {
		if p.Round != f.round || p.Depth != outer || v.quiet[p.Path] || !entered(list[i:]) {
			continue
		}
		key := passage{p.Round, p.Path, p.Iteration}
		left, known := f.told[key]
		if !known {
			f.told[key] = false
			f.say(nil, "step_started", stepStarted{f.run, p.Name, p.Input})
		}
		if left || p.State != workflow.Left || p.Text == nil {
			continue
		}
		f.told[key] = true
		used, err := f.server.usageBelow(f.live, list[i:])
		if err != nil {
			return err
		}
		f.say(nil, "step_completed", stepCompleted{f.run, p.Name, resultOf(*p.Text, used)})
	}
	return nil
}

// entered reports whether something happened in the node of the first passage. The walk enters a
// composite node before its first step begins, and that step may never begin.
func entered(list []workflow.Passage) bool {
	p := list[0]
	if p.Kind == doc.NodeTask || p.Kind == doc.NodeInput || p.State == workflow.Left {
		return true
	}
	return len(list) > 1 && list[1].Depth > p.Depth && entered(list[1:])
}

// usageBelow returns the usage of a passage's calls, including those below it.
func (s *server) usageBelow(ctx context.Context, list []workflow.Passage) (used usage, err error) {
	for i, p := range list {
		if i > 0 && p.Depth <= list[0].Depth {
			break
		}
		if p.JobID == "" {
			continue
		}
		one, err := s.usageOf(ctx, p.JobID)
		if err != nil {
			return used, err
		}
		used.add(one)
	}
	return used, nil
}

// usageOf returns the reported usage of a job's attempts.
func (s *server) usageOf(ctx context.Context, job string) (used usage, err error) {
	attempts, err := dialect.Do(ctx, s.Company, orchestration.Operations.StepAttempts, orchestration.StepAttemptsParams{Dir: s.In(), ProjectID: s.ProjectID, JobID: job})
	for _, a := range attempts {
		if u := a.Usage; u != nil && u.Source == "provider_reported" {
			used.add(usage{orZero(u.InputTokens) + orZero(u.CachedInputTokens), orZero(u.OutputTokens) + orZero(u.ReasoningOutputTokens)})
		}
	}
	return used, err
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// end sends how a round ended, after all its other events.
func (f *subscription) end(p stepPayload) error {
	if !f.record.Over() && f.round == len(f.record.Rounds) {
		return errNotYet
	}
	if err := f.walk(); err != nil {
		return err
	}
	id := f.server.memory.asked(f.run, f.round)
	switch p.Status {
	case doc.FlowSucceeded:
		list, err := f.passages()
		if err != nil {
			return err
		}
		done := strategyCompleted{RunID: f.run}
		for i, one := range list {
			if one.Round != f.round || one.Depth != 0 {
				continue
			}
			if one.Text != nil {
				done.Result = *one.Text
			}
			if done.Usage, err = f.server.usageBelow(f.live, list[i:]); err != nil {
				return err
			}
		}
		f.say(id, "strategy_completed", done)
	case doc.FlowCanceled:
		f.say(nil, "strategy_error", strategyError{f.run, errorBody{"CANCELLED", cancelled}})
	default:
		f.say(id, "strategy_error", strategyError{f.run, errorBody{"EXECUTION_ERROR", f.failure(p.Error)}})
	}
	return nil
}

// failure returns why a round failed.
func (f *subscription) failure(err *doc.FlowError) string {
	if err == nil {
		return "The run failed"
	}
	s, ok := f.step(err.Step)
	v, viewErr := f.view(f.round)
	if !ok || viewErr != nil {
		return err.Message
	}
	return `Step "` + v.label(s.Path) + `" failed: ` + strings.TrimSpace(err.Message)
}

// asOf returns the record as it was at the cursor in the log.
func (f *subscription) asOf() doc.WorkflowRun {
	r := f.record
	r.Rounds = r.Rounds[:f.round]
	r.Steps, r.Status, r.Error, r.CancellationRequested = nil, doc.FlowRunning, nil, false
	for _, s := range f.record.Steps {
		ended, began := f.steps[s.Step]
		if !began {
			continue
		}
		if !ended {
			s.Status, s.Text, s.Approved, s.Done, s.Tasks, s.Error, s.EndedAt = doc.StepRunning, "", nil, nil, nil, nil, ""
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

// passages returns the entries of all nodes, as of the cursor in the log.
func (f *subscription) passages() ([]workflow.Passage, error) {
	record := f.asOf()
	templates, err := workflow.Templates(record)
	if err != nil {
		return nil, err
	}
	return workflow.Passages(templates, record), nil
}
