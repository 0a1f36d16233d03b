package job

// Attempts on other machines: the worker that the hub picks, and the program there.

import (
	"context"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

// remoteWorker is the worker of an attempt, and a description of its program.
type remoteWorker struct {
	fleet.PickResult
	placement doc.Placement
	release   func() // releases the slot unless the session uses it
}

// hubPatience is how long a job waits for a restarting hub.
const hubPatience = 15 * time.Second

// returnWait is how long to wait for the picked worker if it is away or its slot was taken. Then
// another worker is picked.
const returnWait = 5 * time.Second

// pickWorker has the hub choose the worker of an attempt and sets r.away, nil for this machine. If
// no worker accepts the job, it closes the attempt, and blocked is the job's end.
func (r *runner) pickWorker(ctx context.Context, a doc.JobAttempt, machine doc.Machine, agent doc.Agent, live *runs.LiveSpec) (blocked *jobEnd, err error) {
	if r.remote = nil; r.placement.Local() {
		return nil, nil //nolint:nilnil // it runs here
	}
	machine.AgentCommands = nil // these hold on this machine only
	request := fleet.PickRequest{
		Order: session.Order{
			Version: session.OrderVersion, ProjectID: r.project, RunID: a.RunID, SessionRef: a.SessionRef, AgentID: agent.ID, Provider: agent.Provider, RepoID: r.at.repo,
		},
		Placement: *r.placement, Priority: r.priority(), Words: guardedCommand(machine, agent, live),
	}
	for elapsed := clock.Stopwatch(); ; {
		found, release, err := fleet.HoldWorker(ctx, r.w, request)
		switch {
		case ctx.Err() != nil:
			if err == nil {
				release()
			}
			return nil, context.Cause(ctx)
		case err == nil && found.Local:
			release()
			return nil, nil //nolint:nilnil // no slot is free, and it may run here
		case err == nil:
			r.remote = &remoteWorker{found, *r.placement, release}
			r.remote.placement.Where, r.remote.placement.WaitS = doc.WhereRemote, new(int64(returnWait/time.Second))
			return nil, nil //nolint:nilnil // it was found
		case fault.Is(err, fault.HubNotRunning) && r.placement.Where == doc.WhereAny:
			return nil, nil //nolint:nilnil // it runs here
		case fault.Is(err, fault.HubNotRunning) && elapsed() < hubPatience:
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(stopEvery):
			}
		default:
			end := unplacedEnd(err)
			payload := abandonedPayload{Preflight: true, Reason: string(fault.ReasonOf(err))}
			return &end, r.closeAttempt(context.WithoutCancel(ctx), r.w, a, payload, func(a *doc.JobAttempt) {
				a.Status, a.Error = doc.AttemptFailed, err.Error()
			})
		}
	}
}

// releaseWorker releases the slot of the picked worker unless the session uses it.
func (r *runner) releaseWorker() {
	if r.remote != nil {
		r.remote.release()
	}
}

// newExecution returns the session of an attempt, for the machine that was chosen.
func (r *runner) newExecution() execution {
	if r.remote == nil {
		return r.newHosting()
	}
	return &remoteSession{w: r.w, starter: fleet.Starter{
		Workspace: r.w, Placement: r.remote.placement, Priority: r.priority(), Only: r.remote.WorkerID, Hold: r.remote.Hold,
	}}
}

// adopt follows a remote session that is already launched, for example by an earlier runner.
func (r *runner) adopt(a doc.JobAttempt) *remoteSession {
	s := &remoteSession{w: r.w, order: session.Order{ProjectID: r.project, RunID: a.RunID, SessionRef: a.SessionRef}}
	s.follow()
	return s
}

// unplacedEnd is the end of a job that no worker accepts.
func unplacedEnd(why error) jobEnd {
	next := "Start the hub, or a worker that fits (ac worker:list), then submit the job again."
	return jobEnd{
		result:  withError(blank(doc.ResultBlocked, "No machine takes the job: "+why.Error()), string(fault.ReasonOf(why)), why.Error(), next),
		signals: Signals{BlockedReason: string(fault.ReasonOf(why))},
	}
}
