package runs

// What decides when a launch goes on and whether there is money for it: the
// launch lane and the budgets.

import (
	"context"
	"errors"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs/budget"
	"ac/runs/lane"
	"ac/workspace"
	"ac/workspace/doc"
)

// Admission admits the launches of one workspace. A process makes one for each
// workspace; it is safe for concurrent use.
type Admission struct {
	// Lane is the launch lane, which all processes of the workspace share.
	Lane *lane.Lane

	limits lane.Limits
	sums   *budget.Sums
}

// NewAdmission makes the admission of a workspace. The limits are those of
// launches that bring none.
func NewAdmission(w *workspace.Workspace, limits lane.Limits) *Admission {
	return &Admission{Lane: lane.New(w), limits: limits, sums: budget.NewSums(w)}
}

// enter takes a place in the lane. A request that has to wait for it holds up
// nobody meanwhile, and ends with the server's waits.
func (a *Admission) enter(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, run doc.Run) (place *lane.Place, waited bool, err error) {
	place, err = a.Lane.Enter(ctx, lane.Request{
		Priority: spec.Priority, Provider: run.Provider, Team: teamOf(w, run), Limits: spec.LaneLimits.Or(a.limits),
	})
	if err != nil || place.Granted() {
		return place, false, err
	}
	waiting, done, err := inflight.Wait(ctx)
	if err == nil {
		err = place.Await(waiting)
		done()
	}
	if err != nil {
		place.Leave()
		return nil, true, err
	}
	return place, true, nil
}

// preflight compares what was spent before with the budgets, tells it in the
// run's log, and ends the run when a hard limit is reached.
func (a *Admission) preflight(ctx context.Context, w *workspace.Workspace, spec LaunchSpec) error {
	told, refusal, err := a.compare(w, spec, budget.Spend{})
	switch {
	case err != nil || len(told) == 0:
		return err
	case refusal == nil:
		return w.Append(ctx, workspace.LogFile(spec.ProjectID, spec.RunID), told...)
	}
	return errors.Join(refuse(ctx, w, spec, "budget_preflight_exceeded", refusal, told...), refusal)
}

// afford is preflight for a run that was over and is left so on a refusal. It spent
// something already.
func (a *Admission) afford(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, own budget.Spend) error {
	told, refusal, err := a.compare(w, spec, own)
	if err == nil && len(told) > 0 {
		err = w.Append(ctx, workspace.LogFile(spec.ProjectID, spec.RunID), told...)
	}
	return errors.Join(err, refusal)
}

// compare gives the events of what was spent before, and the refusal where a hard limit
// is reached.
func (a *Admission) compare(w *workspace.Workspace, spec LaunchSpec, own budget.Spend) (told []events.Draft, refusal, err error) {
	limits := budget.LimitsOf(w, spec.Budget, spec.ProjectID, spec.TaskID)
	var spent budget.Totals
	if limits.NeedSums() {
		var err error
		if spent, err = a.sums.Of(spec.ProjectID, spec.TaskID, spec.RunID); err != nil {
			return nil, nil, err
		}
	}
	decisions := limits.Decide(own, spent)
	if len(decisions) == 0 {
		return nil, nil, nil
	}
	told, err = budget.Events(decisions, budget.PhasePreflight, func(kind string, payload any) (events.Draft, error) {
		return w.Events.Draft(events.Draft{
			RunID: spec.RunID, SessionRef: spec.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: kind,
		}, payload)
	})
	if over := budget.Over(decisions); len(over) > 0 {
		refusal = fault.New(fault.BudgetExceeded, "Budget preflight refused the launch: %s", budget.Describe(over))
	}
	return told, refusal, err
}
