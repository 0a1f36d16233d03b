package runs

// Actions on the live session of a run: messages to the agent, and answers to its requests. This
// package decides who may act and records that in the run's log. The session's supervisor
// carries out the action.

import (
	"context"
	"errors"
	"slices"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/interaction"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// ruleData is the error data of actor_not_allowed.
type ruleData struct {
	Rule string `json:"rule"`
}

// ownRule prevents the agent of a run from answering the interactions of that run.
const ownRule = "interaction.own"

// permit asks the policy whether an actor may act on a run, and records the decision in the
// run's log. The verdict contains the effective actor.
func permit(ctx context.Context, w *workspace.Workspace, run doc.Run, action string, actor policy.Actor, launched ...string) (policy.Verdict, error) {
	team := teamOf(w, run)
	resource := policy.Resource{ID: run.ID, Kind: "run", Visibility: events.VisibilityOrg, Team: team}
	if team != "" {
		resource.Visibility = events.VisibilityTeam
	}
	verdict := policy.Ask(w, policy.Question{Action: action, Resource: resource, Actor: actor, RunID: run.ID})
	own := actor.ID == run.AgentID || slices.Contains(launched, actor.ID)
	if action == policy.Approve && own && verdict.Decision.Allowed {
		verdict.Decision = policy.Decision{RuleID: ownRule, Reason: "own_run"}
	}
	told, err := verdict.Events(w.Events)
	if err != nil {
		return verdict, err
	}
	return verdict, w.Append(ctx, workspace.LogFile(run.ProjectID, run.ID), told...)
}

// mayDecide refuses an actor who may not answer the interactions of a run.
func mayDecide(ctx context.Context, w *workspace.Workspace, run doc.Run, actor policy.Actor, launched ...string) (policy.Verdict, error) {
	verdict, err := permit(ctx, w, run, policy.Approve, actor, launched...)
	if err == nil && !verdict.Decision.Allowed {
		err = fault.New(fault.ActorNotAllowed, "%s may not decide on what run %s asks: %s", actor.ID, run.ID, verdict.Decision.RuleID).With(ruleData{verdict.Decision.RuleID})
	}
	return verdict, err
}

// mayAct refuses an actor who may not launch the run.
func mayAct(ctx context.Context, w *workspace.Workspace, run doc.Run, actor policy.Actor) error {
	verdict, err := permit(ctx, w, run, policy.Launch, actor)
	return errors.Join(err, verdict.Refusal())
}

// MayAct refuses an actor who may not send messages to a run, and records the decision in the
// run's log. It is for runs without sessions.
func MayAct(ctx context.Context, w *workspace.Workspace, a Act) error {
	run, err := Load(w, a.ProjectID, a.RunID)
	if err != nil {
		return err
	}
	return mayAct(ctx, w, run, a.Actor)
}

// LiveSession returns the record of a run's live session. ok is false if there is none. Living first
// reconciles sessions whose owner died.
func LiveSession(ctx context.Context, w *workspace.Workspace, project, runID string) (run doc.Run, record doc.Session, ok bool, err error) {
	if run, err = Load(w, project, runID); err != nil {
		return run, record, false, err
	}
	for _, named := range []string{runID, ""} { // default session refs contain the run's id
		records, err := session.NamedAfter(w, named)
		if err != nil {
			return run, record, false, err
		}
		for _, found := range records {
			if found.ProjectID != project || found.RunID != runID || doc.Terminal(found.Status) {
				continue
			}
			now, err := session.Current(ctx, w, found.Ref)
			if err != nil {
				return run, record, false, err
			}
			if !doc.Terminal(now.Status) {
				return run, now, true, nil
			}
		}
		if !session.RunAlive(w, project, runID) {
			break
		}
	}
	run, err = Load(w, project, runID)
	return run, record, false, err
}

// Launching returns the question whether an actor may launch a run.
func Launching(w *workspace.Workspace, run doc.Run, actor policy.Actor) policy.Question {
	return policy.Question{Action: policy.Launch, Resource: resource(w, run), Actor: actor, RunID: run.ID}
}

// requireLiveSession is LiveSession for callers that need a live session: without one, the error is
// fault.RunNotLive.
func requireLiveSession(ctx context.Context, w *workspace.Workspace, project, runID string) (doc.Run, doc.Session, error) {
	run, record, ok, err := LiveSession(ctx, w, project, runID)
	if err == nil && !ok {
		err = notLive(runID)
	}
	return run, record, err
}

func notLive(run string) error {
	return fault.New(fault.RunNotLive, "run %s has no live session; use run.continue", run)
}

// Act identifies a run and the actor of an action on it.
type Act struct {
	ProjectID string
	RunID     string
	Actor     policy.Actor
	// Launched lists agents whose work the run itself launched. Like the run's own agent, they
	// may not answer its interactions.
	Launched []string
}

// Respond answers an interaction of a run's agent. The answer is durable on return.
func Respond(ctx context.Context, w *workspace.Workspace, a Act, p session.AnswerRequest) (session.AnswerResult, error) {
	var none session.AnswerResult
	run, record, live, err := LiveSession(ctx, w, a.ProjectID, a.RunID)
	if err != nil {
		return none, err
	}
	asked, err := interactionIn(ctx, w, a.ProjectID, a.RunID, p.InteractionID)
	if err != nil {
		return none, err
	}
	verdict, err := mayDecide(ctx, w, run, a.Actor, a.Launched...)
	if err != nil {
		return none, err
	}
	switch {
	case asked.State != interaction.Open:
		return none, asked.Closed()
	case !live:
		return none, notLive(a.RunID)
	}
	p.Actor, p.Role = verdict.Actor.ID, verdict.Actor.Role
	return session.Respond(ctx, w, record, p)
}

// MayDecide checks whether an actor may answer the interactions of a run, and records the
// decision in the run's log. It is for runs whose answers do not go through a session.
func MayDecide(ctx context.Context, w *workspace.Workspace, a Act) (policy.Verdict, error) {
	run, err := Load(w, a.ProjectID, a.RunID)
	if err != nil {
		return policy.Verdict{}, err
	}
	return mayDecide(ctx, w, run, a.Actor)
}

// Interrupt stops the current turn of a run. expected is the number of that turn, 0 for any.
func Interrupt(ctx context.Context, w *workspace.Workspace, a Act, expected int) (session.InterruptResult, error) {
	run, record, err := requireLiveSession(ctx, w, a.ProjectID, a.RunID)
	if err == nil {
		err = mayAct(ctx, w, run, a.Actor)
	}
	if err != nil {
		return session.InterruptResult{}, err
	}
	return session.Interrupt(ctx, w, record, session.InterruptRequest{Actor: a.Actor.ID, ExpectedTurn: expected})
}

// PolicyOf returns the policy of a run, and whether a live session with an agent runs under it.
func PolicyOf(ctx context.Context, w *workspace.Workspace, project, runID string) (p doc.RunPolicy, live bool, err error) {
	run, record, live, err := LiveSession(ctx, w, project, runID)
	if err != nil {
		return p, false, err
	}
	if live = live && record.Driver != ""; live {
		if state, err := session.StateOf(ctx, w, record); err == nil {
			return state.Policy, true, nil
		}
	}
	return runpolicy.Of(run), live, nil
}

// SetPolicy changes the policy of a run's live session. On return, the change is durable and has
// been applied to open interactions.
func SetPolicy(ctx context.Context, w *workspace.Workspace, a Act, change runpolicy.Change) (session.PolicyResult, error) {
	run, record, err := requireLiveSession(ctx, w, a.ProjectID, a.RunID)
	if err != nil {
		return session.PolicyResult{}, err
	}
	verdict, err := mayDecide(ctx, w, run, a.Actor)
	if err != nil {
		return session.PolicyResult{}, err
	}
	return session.SetPolicy(ctx, w, record, session.PolicyRequest{
		Actor: verdict.Actor.ID, Raise: MayRaise(verdict.Actor.Role), Mode: change.Mode, Level: change.Level, Rules: change.Rules, First: change.First,
	})
}

// MayRaise reports whether a role may raise the permission level of a run.
func MayRaise(role string) bool {
	return slices.Contains([]string{"human", "ceo", "director", "manager"}, role)
}
