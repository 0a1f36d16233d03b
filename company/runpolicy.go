package company

// run.policy.* and policy.defaults.*: what the agent of a run may do without
// asking, and the mode that people prefer for new runs.

import (
	"cmp"
	"context"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// PersonParams say who acts, as claimed: a person when nothing is said.
type PersonParams struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id" is:"optional"`
}

func (p PersonParams) actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}

// RunPolicyParams are those of run.policy.get.
type RunPolicyParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
}

// RunPolicyResult is the result of run.policy.get.
type RunPolicyResult struct {
	RunID  string        `json:"run_id"`
	Policy doc.RunPolicy `json:"policy"`
	Live   bool          `json:"live"` // an agent works under it
}

// RunPolicy reads the policy of a run.
func (c *Company) RunPolicy(_ context.Context, p RunPolicyParams) (RunPolicyResult, error) {
	run, err := runs.Load(c.w, p.ProjectID, p.RunID)
	return RunPolicyResult{p.RunID, runpolicy.Of(run), live(c.w, run)}, err
}

// live reports whether the agent of a run works in a live session.
func live(w *workspace.Workspace, run doc.Run) bool {
	return run.Status == doc.StatusRunning && run.Live != nil && run.Live.Sessions > 0 && session.RunAlive(w, run.ProjectID, run.ID)
}

// SetRunPolicyParams are those of run.policy.set. What is absent stays; the rules
// replace all.
type SetRunPolicyParams struct {
	Dir
	PersonParams
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
	Resolved []string      `json:"resolved"` // interactions that the change decided
}

// SetRunPolicy changes the policy of a run: what its next launch or continuation
// that names none begins with.
func (c *Company) SetRunPolicy(ctx context.Context, p SetRunPolicyParams) (SetRunPolicyResult, error) {
	result := SetRunPolicyResult{RunID: p.RunID, Resolved: []string{}}
	err := governance.Govern(ctx, c.w, func(g *governance.PolicyUnit) error {
		run, err := runs.Load(c.w, p.ProjectID, p.RunID)
		if err != nil {
			return err
		}
		verdict, err := g.Enforce(p.ProjectID, runs.Approval(c.w, run, p.actor()))
		if err != nil {
			return err
		}
		if live(c.w, run) {
			return fault.New(fault.Unsupported, "run %s has a live session, whose policy this version does not change", p.RunID)
		}
		before := runpolicy.Of(run)
		if result.Policy, err = runpolicy.Changed(before, p.change(), true); err != nil {
			return err
		}
		if runpolicy.Equal(before, result.Policy) {
			return nil
		}
		if run.Live == nil {
			run.Live = &doc.Live{}
		}
		run.Live.Policy = result.Policy
		if err := workspace.Put(g.Unit, doc.RunCodec, workspace.RunFile(p.ProjectID, p.RunID), run, 0o644); err != nil {
			return err
		}
		return g.Emit(p.ProjectID, p.RunID, events.Draft{Actor: verdict.Actor.ID, Visibility: events.VisibilityTeam, Type: events.RunPolicyChanged},
			runpolicy.ChangeEvent{By: verdict.Actor.ID, Before: before, After: result.Policy, Cause: runpolicy.BySetting})
	})
	return result, err
}

// PolicyDefaultsParams are those of policy.defaults.get.
type PolicyDefaultsParams struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
}

// PolicyDefaults is the result of policy.defaults.get and policy.defaults.set.
type PolicyDefaults struct {
	Mode doc.Mode `json:"mode"`
}

// PolicyDefaults reads the mode that people prefer for the runs of a project on
// this machine. No launch takes it by itself.
func (c *Company) PolicyDefaults(_ context.Context, p PolicyDefaultsParams) (PolicyDefaults, error) {
	if _, err := c.w.Project(p.ProjectID); err != nil {
		return PolicyDefaults{}, err
	}
	machine, err := c.w.Machine()
	if err != nil && !fault.Is(err, fault.NotFound) {
		return PolicyDefaults{}, err
	}
	return PolicyDefaults{cmp.Or(machine.RunDefaults[p.ProjectID].Mode, doc.ModeDefault)}, nil
}

// SetPolicyDefaultsParams are those of policy.defaults.set.
type SetPolicyDefaultsParams struct {
	Dir
	PersonParams
	ProjectID string   `json:"project_id" is:"id"`
	Mode      doc.Mode `json:"mode" is:"enum=default|accept_edits|plan|full_auto"`
}

// SetPolicyDefaults keeps the mode that people prefer for the runs of a project, on
// this machine.
func (c *Company) SetPolicyDefaults(ctx context.Context, p SetPolicyDefaultsParams) (PolicyDefaults, error) {
	err := governance.Govern(ctx, c.w, func(g *governance.PolicyUnit) error {
		if _, err := c.w.Project(p.ProjectID); err != nil {
			return err
		}
		resource := policy.Resource{ID: p.ProjectID, Kind: "project", Visibility: events.VisibilityOrg}
		if _, err := g.Enforce(p.ProjectID, policy.Question{Action: policy.Approve, Resource: resource, Actor: p.actor()}); err != nil {
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
