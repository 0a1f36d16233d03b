package workforce

// agent.*: mistakes, guidance and improvement of agents.

import (
	"context"
	"strings"

	"ac/company"
	"ac/governance/learning"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
)

// MistakeParams describe a mistake.
type MistakeParams struct {
	WorkerAgentID  string   `json:"worker_agent_id" is:"id"`
	ManagerActorID string   `json:"manager_actor_id"`
	ManagerRole    string   `json:"manager_role" is:"role"`
	MistakeKey     string   `json:"mistake_key"`
	Summary        string   `json:"summary"`
	PreventionRule string   `json:"prevention_rule"`
	TaskID         string   `json:"task_id" is:"optional,id"`
	MilestoneID    string   `json:"milestone_id" is:"optional,id"`
	Evidence       []string `json:"evidence_artifact_ids" is:"optional"`
}

// CheckFields rejects keys that cannot be distinguished from the text around them.
func (p *MistakeParams) CheckFields() []fault.Issue {
	if why := learning.CheckMistakeKey(p.MistakeKey); why != "" {
		return []fault.Issue{{Path: []any{"mistake_key"}, Code: "custom", Message: why}}
	}
	return nil
}

func (p *MistakeParams) mistake() learning.Mistake {
	return learning.Mistake{
		Worker: p.WorkerAgentID, Manager: policy.Actor{ID: p.ManagerActorID, Role: p.ManagerRole},
		Key: p.MistakeKey, Summary: p.Summary, PreventionRule: p.PreventionRule,
		TaskID: p.TaskID, MilestoneID: p.MilestoneID, Evidence: p.Evidence,
	}
}

// RecordMistakeParams are the params of agent.record_mistake.
type RecordMistakeParams struct {
	company.Dir
	MistakeParams
	ProjectID        string `json:"project_id" is:"optional,id"`
	RunID            string `json:"run_id" is:"optional,id"`
	PromoteThreshold int64  `json:"promote_threshold" is:"default=3,min=1"`
}

// RecordMistake counts a mistake of an agent.
func (c Operations) RecordMistake(ctx context.Context, p RecordMistakeParams) (learning.MistakeResult, error) {
	m := p.mistake()
	m.ProjectID, m.RunID, m.PromoteThreshold = p.ProjectID, p.RunID, p.PromoteThreshold
	return learning.RecordMistake(ctx, c.Workspace(), m)
}

// RefreshContextParams are the params of agent.refresh_context.
type RefreshContextParams struct {
	company.Dir
	AgentID       string `json:"agent_id" is:"id"`
	ProjectID     string `json:"project_id" is:"optional,id"`
	MaxTasks      int    `json:"max_tasks" is:"default=20,min=1,cut=200"`
	MaxScopePaths int    `json:"max_scope_paths" is:"default=40,min=1,cut=500"`
}

// RefreshContext writes the context index into the guidance of an agent.
func (c Operations) RefreshContext(ctx context.Context, p RefreshContextParams) (learning.RefreshResult, error) {
	return learning.RefreshContext(ctx, c.Workspace(), learning.ContextIndex{
		Agent: p.AgentID, ProjectID: p.ProjectID, MaxTasks: p.MaxTasks, MaxScopePaths: p.MaxScopePaths,
	})
}

// ImproveParams are the params of agent.self_improve_cycle.
type ImproveParams struct {
	company.Dir
	MistakeParams
	ProjectID            string            `json:"project_id" is:"id"`
	ProposalThreshold    int64             `json:"proposal_threshold" is:"default=3,min=1"`
	PromoteThreshold     int64             `json:"promote_threshold" is:"optional,min=1"`
	EvaluationArgv       []string          `json:"evaluation_argv" is:"optional"`
	EvaluationRepoID     string            `json:"evaluation_repo_id" is:"optional"`
	EvaluationWorkdirRel string            `json:"evaluation_workdir_rel" is:"optional,path"`
	EvaluationEnv        map[string]string `json:"evaluation_env" is:"optional,empty"`
}

// CheckFields rejects evaluations that could not be executed.
func (p *ImproveParams) CheckFields() []fault.Issue {
	issues := p.MistakeParams.CheckFields()
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: message})
	}
	if p.EvaluationRepoID != "" && !runs.Local(p.EvaluationWorkdirRel) {
		refuse("must be relative and stay inside the repository", "evaluation_workdir_rel")
	}
	for i, word := range p.EvaluationArgv {
		if strings.ContainsRune(word, 0) {
			refuse("must not contain NUL", "evaluation_argv", i)
		}
	}
	for name, value := range p.EvaluationEnv {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			refuse("must be a name without = and a value without NUL", "evaluation_env", name)
		}
	}
	return issues
}

// Improve runs a self-improvement cycle and waits for its evaluation.
func (c Operations) Improve(ctx context.Context, p ImproveParams) (learning.CycleResult, error) {
	m := p.mistake()
	m.ProjectID, m.PromoteThreshold = p.ProjectID, p.PromoteThreshold
	return learning.Improve(ctx, c.Workspace(), c.conductor(), learning.Improvement{
		Mistake: m, ProposalThreshold: p.ProposalThreshold, Argv: p.EvaluationArgv, RepoID: p.EvaluationRepoID,
		WorkdirRel: p.EvaluationWorkdirRel, Env: p.EvaluationEnv,
	})
}

// conductor returns the conductor of runs that operations create for themselves.
func (c Operations) conductor() runs.Conductor {
	return runs.Conductor{Launcher: c.Host().Launcher(), Launched: c.RememberSession}
}
