package orchestration

// run.policy.* and policy.defaults.*: the permissions of a run's agent, and the
// preferred mode of new runs.

import (
	"cmp"
	"context"

	"ac/company"
	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// RunPolicyParams are the params of run.policy.get.
type RunPolicyParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
}

// RunPolicyResult is the result of run.policy.get.
type RunPolicyResult struct {
	RunID  string        `json:"run_id"`
	Policy doc.RunPolicy `json:"policy"`
	Live   bool          `json:"live"` // an agent is running under this policy
}

// RunPolicy returns the policy of a run.
func (c Operations) RunPolicy(ctx context.Context, p RunPolicyParams) (RunPolicyResult, error) {
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		record, err := workflow.Load(c.Workspace(), p.ProjectID, p.RunID)
		if err != nil {
			return RunPolicyResult{RunID: p.RunID}, err
		}
		found, err := workflow.PolicyOf(record)
		return RunPolicyResult{p.RunID, found, !record.Over()}, err
	}
	found, live, err := runs.PolicyOf(ctx, c.Workspace(), p.ProjectID, p.RunID)
	return RunPolicyResult{p.RunID, found, live}, err
}

// live reports whether the run's agent has a live session.
func live(w *workspace.Workspace, run doc.Run) bool {
	return run.Status == doc.StatusRunning && run.Live != nil && run.Live.Sessions > 0 && session.RunAlive(w, run.ProjectID, run.ID)
}

// SetRunPolicyParams are the params of run.policy.set. Absent fields stay unchanged. Rules
// replaces all rules.
type SetRunPolicyParams struct {
	company.Dir
	company.PersonParams
	ProjectID       string           `json:"project_id" is:"id"`
	RunID           string           `json:"run_id" is:"id"`
	Mode            doc.Mode         `json:"mode" is:"optional,enum=default|accept_edits|plan|full_auto"`
	Rules           []doc.PolicyRule `json:"rules" is:"optional"`
	PermissionLevel doc.Level        `json:"permission_level" is:"optional,enum=read-only|patch|run-commands|full"`
}

func (p SetRunPolicyParams) change() runpolicy.Change {
	change := runpolicy.Change{Mode: p.Mode, Level: p.PermissionLevel}
	if p.Rules != nil {
		change.Rules = &p.Rules
	}
	return change
}

// SetRunPolicyResult is the result of run.policy.set.
type SetRunPolicyResult struct {
	RunID    string        `json:"run_id"`
	Policy   doc.RunPolicy `json:"policy"`
	Resolved []string      `json:"resolved"` // interactions resolved by the change
}

// SetRunPolicy changes the policy of a run. Later launches and continuations without a policy of
// their own use it.
func (c Operations) SetRunPolicy(ctx context.Context, p SetRunPolicyParams) (SetRunPolicyResult, error) {
	result := SetRunPolicyResult{RunID: p.RunID, Resolved: []string{}}
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		inflight.Leave(ctx)
		changed, err := c.Flows().SetPolicy(ctx, runs.Act{ProjectID: p.ProjectID, RunID: p.RunID, Actor: p.Actor()}, p.change())
		result.Policy, result.Resolved = changed.Policy, append(result.Resolved, changed.Resolved...)
		return result, err
	}
	if run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID); err == nil && live(c.Workspace(), run) {
		inflight.Leave(ctx)
		changed, err := runs.SetPolicy(ctx, c.Workspace(), runs.Act{ProjectID: p.ProjectID, RunID: p.RunID, Actor: p.Actor()}, p.change())
		result.Policy, result.Resolved = changed.Policy, changed.Resolved
		return result, err
	}
	err := governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
		if err != nil {
			return err
		}
		verdict, err := g.Enforce(p.ProjectID, runs.Approval(c.Workspace(), run, p.Actor()))
		if err != nil {
			return err
		}
		if live(c.Workspace(), run) {
			return fault.New(fault.Conflict, "a session of run %s began meanwhile; try again", p.RunID)
		}
		before := runpolicy.Of(run)
		if result.Policy, err = runpolicy.ApplyChange(before, p.change(), true); err != nil {
			return err
		}
		same := runpolicy.Equal(before, result.Policy)
		if same && run.Live != nil {
			return nil
		}
		if run.Live == nil { // record an explicit choice even if it equals the defaults
			run.Live = &doc.Live{}
		}
		run.Live.Policy = result.Policy
		if err := workspace.Put(g.Unit, doc.RunCodec, workspace.RunFile(p.ProjectID, p.RunID), run, 0o644); err != nil || same {
			return err
		}
		return g.Emit(p.ProjectID, p.RunID, events.Draft{Actor: verdict.Actor.ID, Visibility: events.VisibilityTeam, Type: events.RunPolicyChanged},
			runpolicy.ChangeEvent{By: verdict.Actor.ID, Before: before, After: result.Policy, Cause: runpolicy.BySetting})
	})
	return result, err
}

// PolicyDefaultsParams are the params of policy.defaults.get.
type PolicyDefaultsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
}

// PolicyDefaults is the result of policy.defaults.get and policy.defaults.set.
type PolicyDefaults struct {
	Mode doc.Mode `json:"mode"`
}

// PolicyDefaults returns the preferred mode of a project's runs on this machine. Launches do not
// apply it by themselves.
func (c Operations) PolicyDefaults(_ context.Context, p PolicyDefaultsParams) (PolicyDefaults, error) {
	if _, err := c.Workspace().Project(p.ProjectID); err != nil {
		return PolicyDefaults{}, err
	}
	machine, err := c.Workspace().Machine()
	if err != nil && !fault.Is(err, fault.NotFound) {
		return PolicyDefaults{}, err
	}
	return PolicyDefaults{cmp.Or(machine.RunDefaults[p.ProjectID].Mode, doc.ModeDefault)}, nil
}

// SetPolicyDefaultsParams are the params of policy.defaults.set.
type SetPolicyDefaultsParams struct {
	company.Dir
	company.PersonParams
	ProjectID string   `json:"project_id" is:"id"`
	Mode      doc.Mode `json:"mode" is:"enum=default|accept_edits|plan|full_auto"`
}

// SetPolicyDefaults stores the preferred mode of a project's runs on this machine.
func (c Operations) SetPolicyDefaults(ctx context.Context, p SetPolicyDefaultsParams) (PolicyDefaults, error) {
	err := governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		if _, err := c.Workspace().Project(p.ProjectID); err != nil {
			return err
		}
		resource := policy.Resource{ID: p.ProjectID, Kind: "project", Visibility: events.VisibilityOrg}
		if _, err := g.Enforce(p.ProjectID, policy.Question{Action: policy.Approve, Resource: resource, Actor: p.Actor()}); err != nil {
			return err
		}
		return g.UpdateMachine(func(m *doc.Machine) {
			if m.RunDefaults == nil {
				m.RunDefaults = map[string]doc.RunDefaults{}
			}
			m.RunDefaults[p.ProjectID] = doc.RunDefaults{Mode: p.Mode}
		})
	})
	return PolicyDefaults{p.Mode}, err
}
