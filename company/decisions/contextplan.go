package decisions

// context.plan_for_job: planning the context of a job.

import (
	"context"

	"ac/company"
	"ac/governance/contextplan"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// PlanContextParams are the params of context.plan_for_job.
type PlanContextParams struct {
	company.Dir
	ProjectID      string           `json:"project_id" is:"id"`
	ManagerActorID string           `json:"manager_actor_id"`
	ManagerRole    string           `json:"manager_role" is:"role"`
	Goal           string           `json:"goal"`
	WorkerAgentID  string           `json:"worker_agent_id,omitempty" is:"optional,id"`
	ManagerTeamID  string           `json:"manager_team_id,omitempty" is:"optional"`
	JobKind        string           `json:"job_kind,omitempty" is:"default=execution,enum=execution|heartbeat"`
	Constraints    []string         `json:"constraints,omitempty" is:"optional"`
	Deliverables   []string         `json:"deliverables,omitempty" is:"optional"`
	ContextRefs    []doc.ContextRef `json:"context_refs,omitempty" is:"optional"`
	MaxRefs        int              `json:"max_refs,omitempty" is:"optional,min=1,cut=200"`
}

// CheckFields rejects a blank manager id.
func (p *PlanContextParams) CheckFields() []fault.Issue {
	return company.NotBlank("manager_actor_id", p.ManagerActorID)
}

// PlanContext plans a context. It writes nothing.
func (c Operations) PlanContext(_ context.Context, p PlanContextParams) (contextplan.Plan, error) {
	return contextplan.For(c.Workspace(), contextplan.Request{
		ProjectID: p.ProjectID, Manager: policy.Actor{ID: p.ManagerActorID, Role: p.ManagerRole, Team: p.ManagerTeamID},
		WorkerID: p.WorkerAgentID, JobKind: p.JobKind, Goal: p.Goal, Seeds: p.ContextRefs, MaxRefs: p.MaxRefs,
	})
}
