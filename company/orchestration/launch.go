package orchestration

// session.launch: starting the session of a run.

import (
	"cmp"
	"context"
	"strings"

	"ac/company"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace/doc"
)

// LaunchParams are the params of session.launch.
type LaunchParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	RunID      string `json:"run_id" is:"id"`
	SessionRef string `json:"session_ref" is:"optional"`
	workParams
}

// workParams describe the work of a session, its location, and the actor who launches it.
type workParams struct {
	Argv           []string          `json:"argv" is:"optional"`
	RepoID         string            `json:"repo_id" is:"optional"`
	WorkdirRel     string            `json:"workdir_rel" is:"optional,path"`
	Isolation      string            `json:"isolation" is:"optional,enum=worktree|none"`
	TaskID         string            `json:"task_id" is:"optional,id"`
	MilestoneID    string            `json:"milestone_id" is:"optional,id"`
	PromptText     *string           `json:"prompt_text" is:"optional,empty"`
	Model          string            `json:"model" is:"optional"`
	ModelProfile   string            `json:"model_profile" is:"optional"`
	Budget         *doc.Budget       `json:"budget" is:"optional"`
	StdinText      *string           `json:"stdin_text" is:"optional,empty"`
	Env            map[string]string `json:"env" is:"optional,empty"`
	LanePriority   string            `json:"lane_priority" is:"default=normal,enum=high|normal|low"`
	WorkspaceLimit int               `json:"lane_workspace_limit" is:"optional,gt=0"`
	ProviderLimit  int               `json:"lane_provider_limit" is:"optional,gt=0"`
	TeamLimit      int               `json:"lane_team_limit" is:"optional,gt=0"`
	Placement      *doc.Placement    `json:"placement" is:"optional"`
	ActorID        string            `json:"actor_id" is:"default=human"`
	ActorRole      string            `json:"actor_role" is:"default=human,role"`
	ActorTeamID    string            `json:"actor_team_id" is:"optional"`
	liveParams
	displayParams
}

// By sets the actor who launches the session.
func (p *workParams) By(actor, role, team string) {
	p.ActorID, p.ActorRole, p.ActorTeamID = actor, role, team
}

// CheckFields rejects what cannot be executed.
func (p *LaunchParams) CheckFields() []fault.Issue {
	issues := p.check()
	if p.SessionRef != "" {
		if why := session.CheckRef(p.SessionRef); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"session_ref"}, Code: "custom", Message: why})
		}
	}
	return issues
}

func (p *workParams) check() (issues []fault.Issue) {
	issues = append(p.displayParams.check(), p.liveParams.check()...)
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: message})
	}
	if !runs.Local(p.WorkdirRel) {
		refuse("must be relative and stay inside its root", "workdir_rel")
	}
	if p.MilestoneID != "" && p.TaskID == "" {
		refuse("needs task_id", "milestone_id")
	}
	if p.Isolation != "" && p.RepoID == "" {
		refuse("needs repo_id", "isolation")
	}
	for i, word := range p.Argv {
		if strings.ContainsRune(word, 0) {
			refuse("must not contain NUL", "argv", i)
		}
	}
	return append(issues, checkEnv(p.Env)...)
}

// spec returns the specification of the launch.
func (p *workParams) spec(c *company.Company, project, run, ref string) runs.LaunchSpec {
	return runs.LaunchSpec{
		ProjectID: project, RunID: run, SessionRef: ref, Argv: p.Argv, RepoID: p.RepoID, WorkdirRel: p.WorkdirRel,
		TaskID: p.TaskID, MilestoneID: p.MilestoneID, Stdin: p.StdinText, Prompt: p.PromptText, Model: p.Model, ModelProfile: p.ModelProfile,
		Live: p.liveParams.spec(p.displayParams), Version: c.Host().Version(), Env: p.Env, Budget: p.Budget,
		Placement: p.Placement, Environ: c.Host().Launcher().Environ,
		Actor:    policy.Actor{ID: cmp.Or(strings.TrimSpace(p.ActorID), "human"), Role: p.ActorRole, Team: p.ActorTeamID},
		Priority: p.LanePriority, LaneLimits: lane.Limits{Workspace: p.WorkspaceLimit, Provider: p.ProviderLimit, Team: p.TeamLimit},
	}
}

// LaunchResult is the result of session.launch.
type LaunchResult struct {
	SessionRef string `json:"session_ref"`
}

// Launch starts the session of a run.
func (c Operations) Launch(ctx context.Context, p LaunchParams) (_ LaunchResult, err error) {
	ref := cmp.Or(p.SessionRef, session.LocalRef(p.RunID))
	end := c.BeginLaunch(ref)
	defer func() { end(err) }()
	spec := p.spec(c.Company, p.ProjectID, p.RunID, ref)
	isolate(&spec, p.Isolation)
	starter, err := c.starterForRun(&spec)
	if err != nil {
		return LaunchResult{}, err
	}
	if err = runs.Launch(ctx, c.Workspace(), c.Admission(), starter, spec); err != nil {
		return LaunchResult{}, err
	}
	c.RememberSession(ref)
	return LaunchResult{SessionRef: ref}, nil
}

// isolate sets where a session in a repository works: in a worktree, or in place.
func isolate(spec *runs.LaunchSpec, isolation string) {
	switch isolation {
	case runs.IsolationWorktree:
		spec.Worktree = &session.Worktree{Owner: cmp.Or(spec.TaskID, spec.RunID), Run: spec.RunID}
	case runs.IsolationNone:
		spec.InPlace = true
	}
}
