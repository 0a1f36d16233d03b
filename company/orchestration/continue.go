package orchestration

// run.continue: continuing a finished or idle run.

import (
	"context"
	"slices"
	"strings"

	"ac/company"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace/doc"
)

// ContinueParams are the params of run.continue.
type ContinueParams struct {
	actParams
	liveParams
	displayParams
	PromptText      *string `json:"prompt_text" is:"optional,empty"`
	ClientMessageID string  `json:"client_message_id" is:"optional,maxbytes=200"`
	resumeParams
}

// resumeParams configure the next session of a run.
type resumeParams struct {
	Resume         string            `json:"resume" is:"default=auto,enum=auto|provider|digest"`
	Model          string            `json:"model" is:"optional"`
	ModelProfile   string            `json:"model_profile" is:"optional"`
	Budget         *doc.Budget       `json:"budget" is:"optional"`
	Env            map[string]string `json:"env" is:"optional,empty"`
	SessionRef     string            `json:"session_ref" is:"optional"`
	LanePriority   string            `json:"lane_priority" is:"default=normal,enum=high|normal|low"`
	WorkspaceLimit int               `json:"lane_workspace_limit" is:"optional,gt=0"`
	ProviderLimit  int               `json:"lane_provider_limit" is:"optional,gt=0"`
	TeamLimit      int               `json:"lane_team_limit" is:"optional,gt=0"`
	Placement      *doc.Placement    `json:"placement" is:"optional"`
}

func (p resumeParams) check() (issues []fault.Issue) {
	if p.SessionRef != "" {
		if why := session.CheckRef(p.SessionRef); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"session_ref"}, Code: "custom", Message: why})
		}
	}
	return append(issues, checkEnv(p.Env)...)
}

// checkEnv rejects variables that no environment can hold.
func checkEnv(env map[string]string) (issues []fault.Issue) {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			issues = append(issues, fault.Issue{Path: []any{"env", name}, Code: "custom", Message: "must be a name without = and a value without NUL"})
		}
	}
	return issues
}

// spec returns the specification of the next session.
func (p resumeParams) spec(c *company.Company, act actParams) runs.ContinueSpec {
	return runs.ContinueSpec{
		LaunchSpec: runs.LaunchSpec{
			ProjectID: act.ProjectID, RunID: act.RunID, SessionRef: p.SessionRef, Model: p.Model, ModelProfile: p.ModelProfile, Version: c.Host().Version(), Env: p.Env, Budget: p.Budget,
			Actor: act.act().Actor, Priority: p.LanePriority, Placement: p.Placement, Environ: c.Host().Launcher().Environ,
			LaneLimits: lane.Limits{Workspace: p.WorkspaceLimit, Provider: p.ProviderLimit, Team: p.TeamLimit},
		},
		Resume: p.Resume,
	}
}

// CheckFields bounds the texts and validates the other params.
func (p *ContinueParams) CheckFields() []fault.Issue {
	return slices.Concat(p.displayParams.check(), p.liveParams.check(), p.resumeParams.check(), checkPrompt(p.PromptText))
}

// checkPrompt rejects a blank or overlong prompt. A nil prompt is valid.
func checkPrompt(text *string) []fault.Issue {
	switch {
	case text == nil:
	case strings.TrimSpace(*text) == "":
		return []fault.Issue{{Path: []any{"prompt_text"}, Code: "custom", Message: "must not be blank"}}
	case len(*text) > maxPrompt:
		return []fault.Issue{tooLarge(maxPrompt, "prompt_text")}
	}
	return nil
}

// Continue continues a run.
func (c Operations) Continue(ctx context.Context, p ContinueParams) (runs.ContinueResult, error) {
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		return c.continueWorkflow(ctx, p)
	}
	inflight.Leave(ctx)
	if err := job.CheckContinuable(c.Workspace(), p.ProjectID, p.RunID); err != nil {
		return runs.ContinueResult{}, err
	}
	spec := p.resumeParams.spec(c.Company, p.actParams)
	spec.Prompt, spec.Live, spec.ClientMessageID = p.PromptText, p.liveParams.spec(p.displayParams), p.ClientMessageID
	starter, err := c.starterForRun(&spec.LaunchSpec)
	if err != nil {
		return runs.ContinueResult{}, err
	}
	result, err := runs.Continue(ctx, c.Workspace(), c.Admission(), starter, spec)
	if err == nil && result.Resumed != "live" {
		c.RememberSession(result.SessionRef)
	}
	return result, err
}
