package workflow

// Answers to the questions of a run.

import (
	"context"
	"slices"

	"ac/events"
	"ac/internal/clock"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

// Answer answers a question of a run. Only the first answer counts. The answer and its effects are
// durable on return. The errors are those of interaction.Record.Decide, and
// fault.InteractionNotFound.
func (f Flows) Answer(ctx context.Context, project, run, id string, a interaction.Answer) (done interaction.Verdict, at string, err error) {
	_, err = f.change(ctx, project, run, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		i := slices.IndexFunc(r.Steps, func(s doc.FlowStep) bool { return s.InteractionID == id && id != "" })
		if i < 0 {
			return nil, interaction.NotFound(run, id)
		}
		s := r.Steps[i]
		asked := interaction.Record{
			RunID: run, ProjectID: project, State: interaction.Open,
			Request: interaction.Request{InteractionID: id, Kind: interaction.Input}, ResolvedAt: s.EndedAt,
		}
		switch {
		case s.Status == doc.StepSucceeded:
			asked.State = interaction.Answered
		case s.Over() || r.CancellationRequested || r.Error != nil:
			asked.State = interaction.Cancelled
		}
		if done, err = asked.Decide(a); err != nil {
			return nil, err
		}
		at = clock.Stamp(f.Workspace.Env.Clock.Now())
		e := &engine{world: World{Now: at}, d: Decision{Record: *r}}
		r.Steps = slices.Clone(r.Steps)
		e.d.Record.Steps = r.Steps
		text := ""
		if a.Text != nil {
			text = *a.Text
		}
		e.endStep(i, doc.StepSucceeded, text, nil)
		return append([]Event{{events.InteractionResolved, done.Resolution}}, e.d.Events...), nil
	})
	return done, at, err
}
