package runs

// Admission control: the launch lane decides when a launch may start, the budgets decide whether
// it may.

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

// Admission admits the launches of one workspace. A process creates one per workspace. It is
// safe for concurrent use.
type Admission struct {
	// Lane is the launch lane, which all processes of the workspace share.
	Lane *lane.Lane

	limits lane.Limits
	sums   *budget.Sums
}

// NewAdmission returns the Admission of a workspace. limits apply to launches that set none.
func NewAdmission(w *workspace.Workspace, limits lane.Limits) *Admission {
	return &Admission{Lane: lane.New(w), limits: limits, sums: budget.NewSums(w)}
}

// enter queues a launch in the lane and waits until it is granted. A waiting request blocks no
// other request. Its wait ends when the server ends its waits.
func (a *Admission) enter(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, run doc.Run) (ticket *lane.Ticket, waited bool, err error) {
	name := run.Provider
	if !spec.Placement.Local() && spec.Placement.Where != doc.WhereAny {
		name = lane.Elsewhere(name)
	}
	ticket, err = a.Lane.Enter(ctx, lane.Request{
		Priority: spec.Priority, Provider: name, Team: teamOf(w, run), Limits: spec.LaneLimits.Or(a.limits),
	})
	if err != nil || ticket.Granted() {
		return ticket, false, err
	}
	waiting, done, err := inflight.Wait(ctx)
	if err == nil {
		err = ticket.Await(waiting)
		done()
	}
	if err != nil {
		ticket.Leave()
		return nil, true, err
	}
	return ticket, true, nil
}

// Afford returns fault.BudgetExceeded if a project has reached one of its hard limits. It
// records nothing.
func (a *Admission) Afford(w *workspace.Workspace, project string) error {
	_, refusal, err := a.compare(w, LaunchSpec{ProjectID: project}, budget.Spend{})
	return errors.Join(err, refusal)
}

// preflight compares past spending with the budgets and records the decisions in the run's log.
// It ends the run if a hard limit is reached.
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

// afford is preflight for a run that has ended. own is its spending so far. A refusal leaves the
// run as it is.
func (a *Admission) afford(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, own budget.Spend) error {
	told, refusal, err := a.compare(w, spec, own)
	if err == nil && len(told) > 0 {
		err = w.Append(ctx, workspace.LogFile(spec.ProjectID, spec.RunID), told...)
	}
	return errors.Join(err, refusal)
}

// subject returns the run and the entities to which it belongs, for budgets.
func (spec LaunchSpec) subject() budget.Subject {
	return budget.Subject{Project: spec.ProjectID, Task: spec.TaskID, Workflow: spec.WorkflowRunID, Run: spec.RunID}
}

// compare returns the events that record the budget decisions, and a refusal if a hard limit is
// reached.
func (a *Admission) compare(w *workspace.Workspace, spec LaunchSpec, own budget.Spend) (told []events.Draft, refusal, err error) {
	limits := budget.LimitsOf(w, spec.Budget, spec.subject())
	var spent budget.Totals
	if limits.NeedSums() {
		var err error
		if spent, err = a.sums.Of(spec.subject()); err != nil {
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
