package orchestration

// hub.* and worker.*: the machines that run sessions for a workspace. The hub's own process makes
// all changes. If no hub is running, lists come from its files.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ac/company"
	"ac/events"
	"ac/fleet"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/runs/session"
	"ac/workspace"
)

// HubStatus returns the status of the hub. It does not fail if no hub is running.
func (c Operations) HubStatus(ctx context.Context, _ company.Dir) (status fleet.StatusResult, err error) {
	err = fleet.CallHub(ctx, c.Workspace(), fleet.HubStatus, struct{}{}, &status)
	if !fault.Is(err, fault.HubNotRunning) {
		return status, err
	}
	status = fleet.StatusResult{Listen: []string{}}
	config, err := workspace.Load(c.Workspace(), fleet.ConfigCodec, fleet.ConfigFile)
	if fault.Is(err, fault.NotFound) {
		return status, nil
	}
	if err != nil {
		status.Broken = append(status.Broken, fleet.ConfigFile)
	}
	status.HubID, status.Carrier = config.HubID, config.Carrier
	workers, broken, err := fleet.ReadWorkers(c.Workspace().FS)
	if err != nil {
		return status, err
	}
	status.Broken = append(status.Broken, broken...)
	for _, w := range workers {
		if w.State == fleet.WorkerActive || w.State == fleet.WorkerDraining {
			status.Workers.Offline++
		}
	}
	attempts, broken, err := fleet.ReadAttempts(c.Workspace().FS)
	status.Broken = append(status.Broken, broken...)
	for i := range attempts {
		if liveAttempt(attempts[i].State) {
			status.Attempts.Live++
		}
	}
	return status, err
}

// liveAttempt reports whether an attempt in a state may still be active.
func liveAttempt(state string) bool {
	return state != fleet.AttemptDone && state != fleet.AttemptFenced
}

// ListWorkersParams are the params of worker.list.
type ListWorkersParams struct {
	company.Dir
	State string `json:"state" is:"optional,enum=invited|active|draining|revoked"`
}

// ListWorkers lists the workers of the hub by name. If no hub is running, all are offline.
func (c Operations) ListWorkers(ctx context.Context, p ListWorkersParams) ([]fleet.WorkerRow, error) {
	var found fleet.WorkersResult
	err := fleet.CallHub(ctx, c.Workspace(), fleet.HubWorkers, struct{}{}, &found)
	if fault.Is(err, fault.HubNotRunning) {
		found.Workers, err = c.recordedWorkers()
	}
	rows := slices.DeleteFunc(found.Workers, func(w fleet.WorkerRow) bool { return p.State != "" && w.State != p.State })
	if rows == nil {
		rows = []fleet.WorkerRow{}
	}
	return rows, err
}

// recordedWorkers returns the workers from their records, with the attempts that were live when
// the hub ended.
func (c Operations) recordedWorkers() ([]fleet.WorkerRow, error) {
	workers, _, err := fleet.ReadWorkers(c.Workspace().FS)
	if err != nil {
		return nil, err
	}
	attempts, _, err := fleet.ReadAttempts(c.Workspace().FS)
	if err != nil {
		return nil, err
	}
	rows := make([]fleet.WorkerRow, len(workers))
	for i, w := range workers {
		row := fleet.WorkerRow{
			WorkerID: w.ID, Name: w.Name, Role: w.Role, State: w.State, Labels: w.Labels, Slots: w.Slots, Providers: []string{}, Attempts: []fleet.AttemptRow{},
		}
		if row.Labels == nil {
			row.Labels = []string{}
		}
		if last := w.Last; last != nil {
			row.LastSeenAt, row.Version, row.OS, row.Arch, row.ClockOffsetMS = last.SeenAt, last.Version, last.OS, last.Arch, &last.ClockOffsetMS
			row.Providers = append(row.Providers, last.Providers...)
		}
		for _, a := range attempts {
			if a.WorkerID == w.ID && liveAttempt(a.State) {
				of := fleet.AttemptRow{RunID: a.RunID, ProjectID: a.ProjectID, SessionRef: a.SessionRef, Epoch: a.Epoch}
				if record, err := session.Read(c.Workspace(), a.SessionRef); err == nil {
					of.Reach = record.Reach
				}
				row.Attempts = append(row.Attempts, of)
			}
		}
		row.Used = len(row.Attempts)
		row.FreeSlots = max(0, row.Slots-row.Used)
		rows[i] = row
	}
	return rows, nil
}

// govern checks whether the policy allows an actor to change the machines, and returns the
// effective actor. A person or a CEO may. The audit log records the decision.
func (c Operations) govern(ctx context.Context, claimed policy.Actor, kind, id string) (actor policy.Actor, err error) {
	err = governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		verdict, err := g.Enforce("", policy.Question{
			Action: policy.Approve, Actor: claimed,
			Resource: policy.Resource{ID: id, Kind: kind, Visibility: events.VisibilityOrg, Approvers: policy.ExecutivesApprove},
		})
		actor = verdict.Actor
		return err
	})
	return actor, err
}

// HubConfigParams are the params of hub.config.
type HubConfigParams struct {
	company.Dir
	company.PersonParams
	Settings fleet.Settings `json:"settings"`
}

// ConfigureHub changes the given settings and returns all settings. If no hub is running, it
// changes the file for the next hub.
func (c Operations) ConfigureHub(ctx context.Context, p HubConfigParams) (settings fleet.Settings, err error) {
	if _, err := c.govern(ctx, p.Actor(), "hub", "settings"); err != nil {
		return settings, err
	}
	err = fleet.CallHub(ctx, c.Workspace(), fleet.HubConfig, fleet.ConfigRequest{Settings: p.Settings}, &settings)
	if !fault.Is(err, fault.HubNotRunning) {
		return settings, err
	}
	if !c.Workspace().Exists(fleet.ConfigFile) {
		return settings, err // no hub was ever configured
	}
	return fleet.Configure(c.Workspace(), p.Settings)
}

// StopHubParams are the params of the command hub:stop.
type StopHubParams struct{ company.Dir }

// stopHubTimeout is how long a hub may take to end.
const stopHubTimeout = 10 * time.Second

// StopHub stops the hub and waits until it has ended. Sessions on other machines continue. The
// result is not OK if no hub is running.
func (c Operations) StopHub(ctx context.Context, _ StopHubParams) (company.OK, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stopHubTimeout, fault.New(fault.Internal, "the hub did not end within %s", stopHubTimeout))
	defer cancel()
	err := fleet.CallHub(ctx, c.Workspace(), fleet.HubStop, struct{}{}, nil)
	if fault.Is(err, fault.HubNotRunning) && !fleet.HubAlive(c.Workspace()) {
		return company.OK{}, nil
	}
	if err != nil && !fault.Is(err, fault.HubNotRunning) { // the hub may end before it answers
		return company.OK{}, err
	}
	hold, err := lock.Wait(ctx, c.Workspace().FS, fleet.HubLock())
	if err != nil {
		return company.OK{}, err
	}
	return company.OK{OK: true}, hold.Release()
}

// InviteWorkerParams are the params of worker.invite.
type InviteWorkerParams struct {
	company.Dir
	company.PersonParams
	Name        string   `json:"name" is:"maxbytes=63"`
	Labels      []string `json:"labels" is:"optional"`
	Slots       int      `json:"slots" is:"optional,min=1,max=1000"`
	Role        string   `json:"role" is:"default=worker,enum=worker"`
	ExpiresS    int64    `json:"expires_s" is:"optional,min=1,max=604800"`
	TrustLabels bool     `json:"trust_labels" is:"optional"`
}

// CheckFields rejects invalid names and labels of workers.
func (p *InviteWorkerParams) CheckFields() []fault.Issue { return checkWorker(p.Name, p.Labels) }

func checkWorker(name string, labels []string) (issues []fault.Issue) {
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: why})
	}
	if name != "" && !fleet.IsName(name) {
		refuse("must be letters, digits, dots, underscores and hyphens, and no id of a worker", "name")
	}
	for i, label := range labels {
		if !fleet.IsLabel(label) {
			refuse("is no label", "labels", i)
		}
	}
	if len(labels) > fleet.MaxLabels {
		refuse(fmt.Sprintf("must have at most %d items", fleet.MaxLabels), "labels")
	}
	return issues
}

// InviteWorker creates a worker. A machine becomes that worker by joining with the token, which
// is stored nowhere. A name in use is fault.Conflict.
func (c Operations) InviteWorker(ctx context.Context, p InviteWorkerParams) (made fleet.InviteResult, err error) {
	if _, err := c.govern(ctx, p.Actor(), "worker", p.Name); err != nil {
		return made, err
	}
	return made, fleet.CallHub(ctx, c.Workspace(), fleet.HubInvite, fleet.InviteRequest{
		Name: p.Name, Labels: p.Labels, Slots: p.Slots, ExpiresS: p.ExpiresS, TrustLabels: p.TrustLabels,
	}, &made)
}

// workerParams identify a worker and the actor who changes it.
type workerParams struct {
	company.Dir
	company.PersonParams
	WorkerID string `json:"worker_id"` // id or name
}

// CheckFields rejects an invalid name or id of a worker.
func (p *workerParams) CheckFields() []fault.Issue {
	if fleet.IsWorker(p.WorkerID) || fleet.IsName(p.WorkerID) {
		return nil
	}
	return []fault.Issue{{Path: []any{"worker_id"}, Code: "custom", Message: "is neither an id nor a name of a worker"}}
}

// UpdateWorkerParams are the params of worker.update. Absent fields stay unchanged.
type UpdateWorkerParams struct {
	workerParams
	Name   string    `json:"name" is:"optional,maxbytes=63"`
	Labels *[]string `json:"labels" is:"optional"`
	Slots  int       `json:"slots" is:"optional,min=1,max=1000"`
}

// CheckFields rejects invalid names and labels of workers.
func (p *UpdateWorkerParams) CheckFields() []fault.Issue {
	issues := p.workerParams.CheckFields()
	if p.Labels == nil {
		return append(issues, checkWorker(p.Name, nil)...)
	}
	return append(issues, checkWorker(p.Name, *p.Labels)...)
}

// UpdateWorker changes the name, the labels or the slots of a worker.
func (c Operations) UpdateWorker(ctx context.Context, p UpdateWorkerParams) (row fleet.WorkerRow, err error) {
	if _, err := c.govern(ctx, p.Actor(), "worker", p.WorkerID); err != nil {
		return row, err
	}
	return row, fleet.CallHub(ctx, c.Workspace(), fleet.HubUpdate, fleet.UpdateRequest{WorkerID: p.WorkerID, Name: p.Name, Labels: p.Labels, Slots: p.Slots}, &row)
}

// DrainWorkerParams are the params of worker.drain.
type DrainWorkerParams struct {
	workerParams
	On bool `json:"on"`
}

// DrainWorker sets whether a worker is draining. A draining worker accepts no new sessions, and
// its current ones continue.
func (c Operations) DrainWorker(ctx context.Context, p DrainWorkerParams) (row fleet.WorkerRow, err error) {
	if _, err := c.govern(ctx, p.Actor(), "worker", p.WorkerID); err != nil {
		return row, err
	}
	return row, fleet.CallHub(ctx, c.Workspace(), fleet.HubDrain, fleet.DrainRequest{WorkerID: p.WorkerID, On: p.On}, &row)
}

// RevokeWorkerParams are the params of worker.revoke.
type RevokeWorkerParams struct {
	workerParams
	Reason string `json:"reason" is:"optional,maxbytes=2000"`
}

// RevokeWorker revokes a worker for good and ends its sessions.
func (c Operations) RevokeWorker(ctx context.Context, p RevokeWorkerParams) (result fleet.RevokeResult, err error) {
	actor, err := c.govern(ctx, p.Actor(), "worker", p.WorkerID)
	if err != nil {
		return result, err
	}
	err = fleet.CallHub(ctx, c.Workspace(), fleet.HubRevoke, fleet.RevokeRequest{WorkerID: p.WorkerID, Reason: p.Reason, By: actor.ID}, &result)
	if result.Fenced == nil {
		result.Fenced = []string{}
	}
	return result, err
}
