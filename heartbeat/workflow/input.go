package workflow

// What people say to a run: answers to its questions, and texts for its next task.

import (
	"context"
	"slices"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

// Answer answers a question of a run. The first answer stands; it and what follows
// from it are durable when it returns. Errors are those of interaction.Record.Decide,
// and fault.InteractionNotFound.
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

// Steer keeps a text for the next task of a run, and gives its id. It is for runs
// that are not over, and for the next round of those that are.
func (f Flows) Steer(ctx context.Context, project, run, text string) (id string, err error) {
	id = f.Workspace.Env.IDs.New("steer")
	_, err = f.change(ctx, project, run, func(_ *workspace.Unit, r *doc.WorkflowRun) ([]Event, error) {
		waiting := 0
		for _, s := range r.Steer {
			if s.UsedBy == "" {
				waiting++
			}
		}
		if waiting >= maxSteers {
			return nil, fault.New(fault.Conflict, "%d texts wait for the next task of run %s already", waiting, run)
		}
		r.Steer = append(slices.Clone(r.Steer), doc.FlowSteer{SteerID: id, Text: text, At: clock.Stamp(f.Workspace.Env.Clock.Now())})
		return nil, nil
	})
	return id, err
}

// maxSteers is how many texts may wait.
const maxSteers = 32
