package company

// run.continue: going on with a run that is over, or idle.

import (
	"context"
	"slices"
	"strings"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace/doc"
)

// ContinueParams are those of run.continue.
type ContinueParams struct {
	actParams
	liveParams
	displayParams
	PromptText      *string `json:"prompt_text" is:"optional,empty"`
	ClientMessageID string  `json:"client_message_id" is:"optional,maxbytes=200"`
	resumeParams
}

// resumeParams say how the next session of a run is to be.
type resumeParams struct {
	Resume         string            `json:"resume" is:"default=auto,enum=auto|provider|digest"`
	Model          string            `json:"model" is:"optional"`
	Budget         *doc.Budget       `json:"budget" is:"optional"`
	Env            map[string]string `json:"env" is:"optional,empty"`
	SessionRef     string            `json:"session_ref" is:"optional"`
	LanePriority   string            `json:"lane_priority" is:"default=normal,enum=high|normal|low"`
	WorkspaceLimit int               `json:"lane_workspace_limit" is:"optional,gt=0"`
	ProviderLimit  int               `json:"lane_provider_limit" is:"optional,gt=0"`
	TeamLimit      int               `json:"lane_team_limit" is:"optional,gt=0"`
}

func (p resumeParams) check() (issues []fault.Issue) {
	if p.SessionRef != "" {
		if why := session.CheckRef(p.SessionRef); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"session_ref"}, Code: "custom", Message: why})
		}
	}
	return append(issues, checkEnv(p.Env)...)
}

// checkEnv refuses what no environment can hold.
func checkEnv(env map[string]string) (issues []fault.Issue) {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			issues = append(issues, fault.Issue{Path: []any{"env", name}, Code: "custom", Message: "must be a name without = and a value without NUL"})
		}
	}
	return issues
}

// spec is how a run is to be continued.
func (p resumeParams) spec(c *Company, act actParams) runs.ContinueSpec {
	return runs.ContinueSpec{
		LaunchSpec: runs.LaunchSpec{
			ProjectID: act.ProjectID, RunID: act.RunID, SessionRef: p.SessionRef, Model: p.Model, Version: c.all.version, Env: p.Env, Budget: p.Budget,
			Actor: act.act().Actor, Priority: p.LanePriority,
			LaneLimits: lane.Limits{Workspace: p.WorkspaceLimit, Provider: p.ProviderLimit, Team: p.TeamLimit},
		},
		Resume: p.Resume,
	}
}

// CheckFields holds what is said to its bounds.
func (p *ContinueParams) CheckFields() []fault.Issue {
	issues := slices.Concat(p.displayParams.check(), p.liveParams.check(), p.resumeParams.check())
	switch {
	case p.PromptText == nil:
	case strings.TrimSpace(*p.PromptText) == "":
		issues = append(issues, fault.Issue{Path: []any{"prompt_text"}, Code: "custom", Message: "must not be blank"})
	case len(*p.PromptText) > maxPrompt:
		issues = append(issues, tooLarge(maxPrompt, "prompt_text"))
	}
	return issues
}

// jobData stands beside run_owned_by_job.
type jobData struct {
	JobID string `json:"job_id"`
}

// free refuses a run that is an attempt of a job which is not over: the job speaks with
// the agent.
func (c *Company) free(project, run string) error {
	records, err := session.NamedAfter(c.w, run)
	for _, record := range records {
		if owner := job.OpenJobOf(c.w, project, record.Ref, run); owner != "" && record.ProjectID == project {
			return fault.New(fault.RunOwnedByJob, "run %s is an attempt of job %s, which is not over", run, owner).With(jobData{owner})
		}
	}
	return err
}

// Continue goes on with a run.
func (c *Company) Continue(ctx context.Context, p ContinueParams) (runs.ContinueResult, error) {
	inflight.Leave(ctx)
	if err := c.free(p.ProjectID, p.RunID); err != nil {
		return runs.ContinueResult{}, err
	}
	spec := p.resumeParams.spec(c, p.actParams)
	spec.Prompt, spec.Live, spec.ClientMessageID = p.PromptText, p.liveParams.spec(p.displayParams), p.ClientMessageID
	result, err := runs.Continue(ctx, c.w, c.all.admission(c.w), c.all.launcher, spec)
	if err == nil && result.Resumed != "live" {
		c.all.mu.Lock()
		c.all.launched = append(c.all.launched, launched{c.dir, result.SessionRef})
		c.all.mu.Unlock()
	}
	return result, err
}
