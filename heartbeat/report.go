package heartbeat

// Reports: evaluating workers' answers and carrying out their actions.

import (
	"cmp"
	"context"
	"time"

	"ac/governance"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// evaluate evaluates the report of a finished job; an unfinished one stays pending. An invalid
// report is noted and does not affect others. evaluate returns an error only if the context ended
// or the workspace cannot be written.
func (t *tick) evaluate(ctx context.Context, p pendingJob) error {
	record, err := t.jobs.Poll(ctx, t.w, p.ProjectID, p.JobID)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case fault.Is(err, fault.NotFound):
		return t.close(ctx, p, func(*doc.HeartbeatState, time.Time) {}) // its project no longer exists
	case err != nil:
		t.notice(err)
		return nil
	case !record.Over():
		return nil
	}
	report, err := reportOf(t.w, p, record)
	t.notice(err)
	switch {
	case report == nil:
		return t.close(ctx, p, func(*doc.HeartbeatState, time.Time) {})
	case report.Status == doc.ReportOK:
		err = t.close(ctx, p, func(state *doc.HeartbeatState, now time.Time) { t.recordOK(state, p.WorkerAgentID, now) })
	default:
		if err = t.arbitrate(ctx, p, record, report.Actions); err == nil {
			err = t.close(ctx, p, func(state *doc.HeartbeatState, _ time.Time) { recordActions(state, p.WorkerAgentID) })
		}
	}
	if err != nil {
		return err
	}
	t.ReportsProcessed++
	if report.Status == doc.ReportOK {
		t.ReportsOK++
	} else {
		t.ReportsActions++
	}
	return nil
}

// close removes a job from the pending list and applies fn to the state, in one unit.
func (t *tick) close(ctx context.Context, p pendingJob, fn func(*doc.HeartbeatState, time.Time)) error {
	return t.w.Update(ctx, func(u *workspace.Unit) error {
		damaged, err := t.seen.change(u, func(state *doc.HeartbeatState) { fn(state, t.w.Env.Clock.Now()) })
		if err != nil {
			return err
		}
		t.notice(damaged)
		return removePending(u, p)
	})
}

// recordOK records that a worker has nothing to do, and suppresses it for a while.
func (t *tick) recordOK(state *doc.HeartbeatState, worker string, now time.Time) {
	known := state.WorkerState[worker]
	known.LastOKAt, known.LastReportStatus = clock.Stamp(now), doc.ReportOK
	known.SuppressedUntil = clock.Stamp(now.Add(time.Duration(t.Config.OKSuppressionMinutes) * time.Minute))
	state.WorkerState[worker] = known
	state.Stats.ReportsOKTotal++
}

// recordActions records that a worker proposed actions.
func recordActions(state *doc.HeartbeatState, worker string) {
	known := state.WorkerState[worker]
	known.LastReportStatus, known.SuppressedUntil = doc.ReportActions, ""
	state.WorkerState[worker] = known
	state.Stats.ReportsActionsTotal++
}

// arbitrate decides about the actions of a report one by one. It starts after those that an earlier
// tick decided.
func (t *tick) arbitrate(ctx context.Context, p pendingJob, record doc.Job, actions []doc.HeartbeatAction) error {
	source := doc.JobAttempt{RunID: governance.ManualRun, ContextPackID: governance.ManualContext}
	if last := record.Last(); last != nil {
		source = *last
	}
	for i := p.ActionsDone; i < len(actions); i++ {
		became, err := t.act(ctx, p, i+1, source, actions[i].Action())
		if err != nil {
			return err
		}
		switch became {
		case executed:
			t.ActionsExecuted++
		case queued:
			t.ApprovalsQueued++
		case deduped:
			t.DedupedActions++
		case skipped:
			t.SkippedActions++
		}
	}
	return nil
}

// act decides about one action and carries it out. One unit records its key, its effect and its
// position in the report. If the action is refused or fails, act skips it and records only the
// position.
func (t *tick) act(ctx context.Context, p pendingJob, position int, source doc.JobAttempt, action doc.Action) (became outcome, err error) {
	var start func(context.Context) error
	err = governance.Govern(ctx, t.w, func(g *governance.PolicyUnit) error {
		state, damaged, err := t.seen.stateIn(g.Unit)
		if err != nil {
			return err
		}
		t.notice(damaged)
		now := t.w.Env.Clock.Now()
		Forget(&state, now)
		unfit := cmp.Or(refuseSecrets(t.Config, action), checkAction(t.w, action))
		stop := ""
		if unfit == nil {
			if stop, err = hardStop(t.w, t.Config, actorFor(t.w, t.Config, p.WorkerAgentID), source.RunID, action.ActionBody); err != nil {
				return err
			}
		}
		r := decide(state, action, circumstances{
			now: now, config: t.Config, quarantined: damaged != nil || HasQuarantinedState(t.w), executed: t.ActionsExecuted, misfit: unfit != nil, stop: stop,
		})
		became = r.outcome
		if became == skipped {
			t.notice(unfit)
		}
		if start, err = t.effect(g, p, source, action, r); err != nil {
			return err
		}
		t.keep(&state, action, r, now)
		if err := recordArbitrated(g.Unit, p, position); err != nil {
			return err
		}
		return t.seen.put(g.Unit, state)
	})
	switch {
	case err == nil && start != nil:
		// The job exists even if its start fails.
		t.notice(start(context.WithoutCancel(ctx)))
		return became, nil
	case err == nil:
		return became, nil
	case ctx.Err() != nil:
		return skipped, context.Cause(ctx)
	case fault.Is(err, fault.Locked):
		return skipped, err
	}
	t.notice(fault.New(fault.ReasonOf(err), "action %s of %s: %w", action.IdempotencyKey, p.WorkerAgentID, err))
	return skipped, t.w.Update(ctx, func(u *workspace.Unit) error { return recordArbitrated(u, p, position) })
}

// keep records the outcome of an action in the state.
func (t *tick) keep(state *doc.HeartbeatState, action doc.Action, r decision, now time.Time) {
	switch r.outcome {
	case executed:
		Remember(state, action.ActionBody, now, t.Config.IdempotencyTTLDays)
		state.Stats.ActionsExecutedTotal++
	case queued:
		state.Stats.ApprovalsQueuedTotal++
	case deduped:
		state.Stats.DedupedActionsTotal++
	case skipped:
	}
	if r.note && r.outcome != executed {
		note(state, action.ActionBody, doc.IdempotencyQueued, now, t.Config.IdempotencyTTLDays)
	}
}

// effect queues what a decision does. start, if not nil, starts the action's job.
func (t *tick) effect(g *governance.PolicyUnit, p pendingJob, source doc.JobAttempt, action doc.Action, r decision) (start func(context.Context) error, err error) {
	switch r.outcome {
	case queued:
		return nil, propose(g.Unit, p.WorkerAgentID, source, action, r.why)
	case executed:
		_, start, err = Execute(g, launches{t.jobs}, Execution{
			Project: p.ProjectID, Run: source.RunID, Actor: actorFor(t.w, t.Config, p.WorkerAgentID), Action: action.ActionBody,
		})
		return start, err
	case skipped, deduped:
	}
	return nil, nil
}

// Execution is an action to carry out, with its actor.
type Execution struct {
	// Project and Run identify the log that records the policy's decision.
	Project, Run string
	Actor        policy.Actor // the effective actor
	Action       doc.ActionBody
}

// Execute asks the policy about an action and queues its effect in a unit. For a job it returns the
// id, and start starts it; otherwise both are zero. Without a launcher, jobs fail with
// fault.Unsupported.
func Execute(g *governance.PolicyUnit, launcher JobLauncher, e Execution) (jobID string, start func(context.Context) error, err error) {
	if e.Action.Kind == doc.ActionNoop {
		return "", nil, nil
	}
	visibility := cmp.Or(e.Action.Visibility, "managers")
	if _, err := g.Enforce(e.Project, question(e)); err != nil {
		return "", nil, err
	}
	if e.Action.Kind == doc.ActionAddComment {
		_, err := g.Comment(governance.NewComment{
			AuthorID: e.Actor.ID, AuthorRole: e.Actor.Role, Visibility: visibility, Body: e.Action.Body,
			Target: doc.CommentTarget{ProjectID: e.Action.ProjectID, AgentID: e.Action.TargetAgentID, ArtifactID: e.Action.TargetArtifactID, RunID: e.Action.TargetRunID},
		})
		return "", nil, err
	}
	if launcher == nil {
		return "", nil, fault.New(fault.Unsupported, "the action launches a job, which this process cannot do")
	}
	return launcher.Launch(g.Unit, e.Action)
}
