package company

// run.continue: going on with a run that is over, or idle.

import (
	"cmp"
	"context"
	"strings"

	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
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
	PromptText      *string           `json:"prompt_text" is:"optional,empty"`
	Resume          string            `json:"resume" is:"default=auto,enum=auto|provider|digest"`
	Model           string            `json:"model" is:"optional"`
	Budget          *doc.Budget       `json:"budget" is:"optional"`
	Env             map[string]string `json:"env" is:"optional,empty"`
	SessionRef      string            `json:"session_ref" is:"optional"`
	ClientMessageID string            `json:"client_message_id" is:"optional,maxbytes=200"`
	LanePriority    string            `json:"lane_priority" is:"default=normal,enum=high|normal|low"`
	WorkspaceLimit  int               `json:"lane_workspace_limit" is:"optional,gt=0"`
	ProviderLimit   int               `json:"lane_provider_limit" is:"optional,gt=0"`
	TeamLimit       int               `json:"lane_team_limit" is:"optional,gt=0"`
}

// CheckFields holds what is said to its bounds.
func (p *ContinueParams) CheckFields() []fault.Issue {
	issues := append(p.displayParams.check(), p.liveParams.check()...)
	switch {
	case p.PromptText == nil:
	case strings.TrimSpace(*p.PromptText) == "":
		issues = append(issues, fault.Issue{Path: []any{"prompt_text"}, Code: "custom", Message: "must not be blank"})
	case len(*p.PromptText) > maxPrompt:
		issues = append(issues, tooLarge(maxPrompt, "prompt_text"))
	}
	if p.SessionRef != "" {
		if why := session.CheckRef(p.SessionRef); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"session_ref"}, Code: "custom", Message: why})
		}
	}
	for name, value := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			issues = append(issues, fault.Issue{Path: []any{"env", name}, Code: "custom", Message: "must be a name without = and a value without NUL"})
		}
	}
	return issues
}

// Continue goes on with a run.
func (c *Company) Continue(ctx context.Context, p ContinueParams) (runs.ContinueResult, error) {
	if workflow.Is(c.w, p.ProjectID, p.RunID) {
		return c.continueWorkflow(ctx, p)
	}
	inflight.Leave(ctx)
	if err := job.Continuable(c.w, p.ProjectID, p.RunID); err != nil {
		return runs.ContinueResult{}, err
	}
	actor := policy.Actor{ID: cmp.Or(strings.TrimSpace(p.ActorID), "human"), Role: p.ActorRole, Team: p.ActorTeamID}
	result, err := runs.Continue(ctx, c.w, c.all.admission(c.w), c.all.launcher, runs.ContinueSpec{
		LaunchSpec: runs.LaunchSpec{
			ProjectID: p.ProjectID, RunID: p.RunID, SessionRef: p.SessionRef, Prompt: p.PromptText, Model: p.Model, Live: p.spec(p.displayParams),
			Version: c.all.version, Env: p.Env, Budget: p.Budget, Actor: actor,
			Priority: p.LanePriority, LaneLimits: lane.Limits{Workspace: p.WorkspaceLimit, Provider: p.ProviderLimit, Team: p.TeamLimit},
		},
		Resume: p.Resume, ClientMessageID: p.ClientMessageID,
	})
	if err == nil && result.Resumed != "live" {
		c.all.mu.Lock()
		c.all.launched = append(c.all.launched, launched{c.dir, result.SessionRef})
		c.all.mu.Unlock()
	}
	return result, err
}
