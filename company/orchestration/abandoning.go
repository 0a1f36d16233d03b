package orchestration

// session.abandon: giving up a session on an unreachable machine.

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"ac/company"
	"ac/events"
	"ac/fleet"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace/doc"
)

// AbandonParams are the params of session.abandon.
type AbandonParams struct {
	company.Dir
	SessionRef string `json:"session_ref"`
	Reason     string `json:"reason" is:"maxbytes=2000"`
	company.PersonParams
}

// CheckFields rejects an invalid session_ref.
func (p *AbandonParams) CheckFields() []fault.Issue {
	if why := session.CheckRef(p.SessionRef); why != "" {
		return []fault.Issue{{Path: []any{"session_ref"}, Code: "custom", Message: why}}
	}
	return nil
}

// AbandonSession abandons a session whose worker is unreachable or whose hub is not running. The
// run fails, and fencing rejects whatever the worker sends later. A reachable session is
// fault.Conflict: stop it instead.
func (c Operations) AbandonSession(ctx context.Context, p AbandonParams) (none company.Poll, err error) {
	record, err := session.Current(ctx, c.Workspace(), p.SessionRef)
	if err != nil {
		return none, err
	}
	actor, err := c.mayAbandon(ctx, record, p.Actor())
	if err != nil {
		return none, err
	}
	hub := fleet.HubAlive(c.Workspace())
	switch {
	case !record.Remote() || doc.Terminal(record.Status):
		return none, fault.New(fault.Conflict, "session %s is not one that lives on another machine", record.Ref)
	case hub && record.Reach != doc.ReachUnreachable:
		return none, fault.New(fault.Conflict, "the worker of session %s is reached; stop it", record.Ref)
	}
	if hub {
		err = fleet.CallHub(ctx, c.Workspace(), fleet.HubAbandon, fleet.AbandonRequest{SessionRef: record.Ref, Reason: p.Reason, By: actor.ID}, nil)
	} else {
		err = c.abandonUnattended(ctx, record, p.Reason, actor.ID)
	}
	if err != nil {
		return none, err
	}
	record, err = session.Read(c.Workspace(), p.SessionRef)
	return company.PollOf(c.Workspace(), record), err
}

// mayAbandon returns the effective actor. It rejects workers, and actors who may not launch the
// run. The policy's decision is recorded in the log of the run.
func (c Operations) mayAbandon(ctx context.Context, record doc.Session, claimed policy.Actor) (actor policy.Actor, err error) {
	run, err := runs.Load(c.Workspace(), record.ProjectID, record.RunID)
	if err != nil {
		return actor, err
	}
	err = governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		verdict, err := g.Enforce(record.ProjectID, runs.Launching(c.Workspace(), run, claimed))
		if actor = verdict.Actor; err == nil && actor.Role == "worker" {
			err = fault.New(fault.Denied, "a worker may not abandon a session")
		}
		return err
	})
	return actor, err
}

// abandonUnattended abandons an attempt as the hub would, while no hub is running. It fences the
// attempt before it ends the run, so that a hub that starts in between accepts nothing from it.
func (c Operations) abandonUnattended(ctx context.Context, record doc.Session, why, by string) (err error) {
	name := fleet.Attempt(record.ProjectID, record.RunID, record.Ref, record.Epoch)
	order := session.Order{ProjectID: record.ProjectID, RunID: record.RunID, SessionRef: record.Ref}
	run, err := runs.Load(c.Workspace(), record.ProjectID, record.RunID)
	if err != nil {
		return err
	}
	if order.AgentID, order.Provider = run.AgentID, run.Provider; run.Spec != nil {
		order.TaskID, order.Budget = run.Spec.TaskID, run.Spec.Budget
	}
	r, err := supervisor.ResumeRemote(ctx, c.Workspace(), supervisor.RemoteHost{
		WorkerID: record.WorkerID, Epoch: record.Epoch, Stop: func(bool) string { return "" },
		Verb: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, fault.New(fault.RunNotLive, "the session is being abandoned")
		},
	}, order)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	attempt, err := fleet.ReadAttempt(c.Workspace().FS, name)
	if err == nil && liveAttempt(attempt.State) {
		attempt.State, attempt.FencedFor = fleet.AttemptFenced, fleet.FencedAbandoned
		err = fleet.WriteAttempt(c.Workspace(), attempt)
	}
	if err != nil && !fault.Is(err, fault.NotFound) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = r.Append(ctx, func(source events.Source) ([]events.Draft, error) {
		d, err := source.Draft(events.Draft{
			RunID: record.RunID, SessionRef: record.Ref, Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: events.WorkerFenced,
		}, fleet.FencedPayload{
			WorkerID: record.WorkerID, Epoch: record.Epoch, Reason: fleet.FencedAbandoned, By: by, Sealed: attempt.Checkpoint.N, Note: why,
		})
		return []events.Draft{d}, err
	})
	if err != nil {
		return err
	}
	return r.End(ctx, supervisor.RemoteEnd{
		Status: doc.StatusFailed, Orphaned: true, Lost: true, Reason: fleet.ReasonLost, Reach: doc.ReachLost,
		Error: "its worker was given up: " + why,
	})
}
