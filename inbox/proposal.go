package inbox

// Approving a heartbeat proposal, which executes its action.

import (
	"context"

	"ac/governance"
	"ac/governance/policy"
	"ac/heartbeat"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// execution is the outcome of a proposal's actions, in the form of its event.
type execution struct {
	ExecutedActions     int      `json:"executed_actions"`
	QueuedForApproval   int      `json:"queued_for_approval"`
	DedupedActions      int      `json:"deduped_actions"`
	SkippedActions      int      `json:"skipped_actions"`
	ProposalArtifactIDs []string `json:"proposal_artifact_ids"`
	LaunchedJobIDs      []string `json:"launched_job_ids"`
}

// approval is the state of approving a proposal.
type approval struct {
	*governance.PolicyUnit

	launcher Launcher
	actor    policy.Actor // the effective actor
	done     execution
	start    func(context.Context) error // starts the launched job
}

func approveProposal(ctx context.Context, w *workspace.Workspace, r governance.Ruling, launcher Launcher) (governance.Resolution, error) {
	resolved := r.Resolution(governance.KindHeartbeatAction)
	a := approval{launcher: launcher, done: execution{ProposalArtifactIDs: []string{}, LaunchedJobIDs: []string{}}}
	err := governance.Govern(ctx, w, func(g *governance.PolicyUnit) (err error) {
		a.PolicyUnit = g
		resolved.ReviewID, err = a.decide(r)
		return err
	})
	if err == nil && a.start != nil {
		// The decision stands and the job exists. If its start fails, the job is taken over like
		// one whose runner died.
		_ = a.start(context.WithoutCancel(ctx))
	}
	return resolved, err
}

func (a *approval) decide(r governance.Ruling) (review string, err error) {
	w := a.Workspace()
	if _, err := w.Project(r.ProjectID); err != nil {
		return "", err
	}
	proposal, err := a.Proposal(r)
	if err != nil {
		return "", err
	}
	action, err := toRun(r, proposal)
	if err != nil {
		return "", err
	}
	verdict, err := a.Enforce(r.ProjectID, governance.ProposalQuestion(r, proposal))
	if err != nil {
		return "", err
	}
	a.actor = verdict.Actor
	if _, err := a.CheckUndecided(r, governance.KindHeartbeatAction); err != nil {
		return "", err
	}
	if err := a.executeOnce(r.ProjectID, action); err != nil {
		return "", err
	}
	return a.Review(r, verdict, governance.DecisionResult{
		SubjectKind: governance.KindHeartbeatAction, ArtifactID: r.ArtifactID, ProposedActionKind: proposal.ProposedAction.Kind, Execution: a.done,
	})
}

// toRun returns the action that a proposal stands for: its own, or the inner one of a request for
// approval. It refuses actions of another project and invalid ids.
func toRun(r governance.Ruling, proposal doc.HeartbeatProposal) (doc.ActionBody, error) {
	outer := proposal.ProposedAction.WithDefaults()
	action := outer.ActionBody
	if outer.Kind == doc.ActionCreateApproval {
		if outer.ProposedAction == nil {
			action = heartbeat.NoopFor(outer)
		} else {
			action = *outer.ProposedAction
		}
	}
	refuse := func(format string, args ...any) (doc.ActionBody, error) {
		return action, fault.New(fault.InvalidFile, "%s: proposed_action: "+format, append([]any{governance.ArtifactFile(r.ProjectID, r.ArtifactID)}, args...)...)
	}
	for _, project := range []string{outer.ProjectID, action.ProjectID} {
		if project != "" && project != r.ProjectID {
			return refuse("it belongs to project %s, not to %s", project, r.ProjectID)
		}
	}
	if err := heartbeat.CheckIDs(action); err != nil {
		return refuse("%w", err)
	}
	if len(action.Body) > maxCommentBytes {
		return refuse("the body has more than %d bytes", maxCommentBytes)
	}
	return action, nil
}

// maxCommentBytes is the maximum length of a comment's body, in bytes.
const maxCommentBytes = 64 << 10

// executeOnce executes an action and records that, unless an action with the same idempotency key was
// executed before.
func (a *approval) executeOnce(project string, action doc.ActionBody) error {
	state, err := heartbeat.State(a.Unit)
	if err != nil {
		return err
	}
	w := a.Workspace()
	now := w.Env.Clock.Now()
	heartbeat.Forget(&state, now)
	if heartbeat.WasExecuted(state, action.IdempotencyKey) {
		a.done.DedupedActions = 1
		return nil
	}
	if err := a.run(project, action); err != nil {
		return err
	}
	a.done.ExecutedActions = 1
	config, _ := heartbeat.Config(w) // an invalid config still has its valid fields; heartbeat.status reports the problem
	heartbeat.Remember(&state, action, now, config.IdempotencyTTLDays)
	return heartbeat.PutState(a.Unit, state)
}

// run checks the budget again, asks the policy about the action itself, and executes the action.
func (a *approval) run(project string, action doc.ActionBody) error {
	if err := heartbeat.CheckBudget(a.Workspace(), action); err != nil {
		return err
	}
	id, start, err := heartbeat.Execute(a.PolicyUnit, a.launcher, heartbeat.Execution{Project: project, Actor: a.actor, Action: action})
	if id != "" {
		a.start, a.done.LaunchedJobIDs = start, []string{id}
	}
	return err
}
