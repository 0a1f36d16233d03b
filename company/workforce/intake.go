package workforce

// pipeline.client_intake.run and pipeline.department.assign_tasks: from a
// client's request to tasks, with the CEO's approval in between.

import (
	"context"
	"slices"
	"strings"

	"ac/company"
	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/internal/shape"
)

// ClientIntakeParams are the params of pipeline.client_intake.run.
type ClientIntakeParams struct {
	_ struct{} `is:"strict"`
	company.Dir
	ProjectName        string `json:"project_name"`
	CEOActorID         string `json:"ceo_actor_id"`
	ExecutiveManagerID string `json:"executive_manager_agent_id" is:"id"`
	IntakeText         string `json:"intake_text,omitempty" is:"optional,empty"`
	IntakeFile         string `json:"intake_file,omitempty" is:"optional,empty,path"`
	Model              string `json:"model,omitempty" is:"optional,empty"`
}

// CheckFields rejects blank names and names with line breaks.
func (p *ClientIntakeParams) CheckFields() []fault.Issue {
	issues := slices.Concat(
		company.NotBlank("project_name", p.ProjectName), company.NotBlank("ceo_actor_id", p.CEOActorID), company.NotBlank("executive_manager_agent_id", p.ExecutiveManagerID),
	)
	if strings.ContainsAny(p.ProjectName, "\n\r\u0085\u2028\u2029") {
		issues = append(issues, fault.Issue{Path: []any{"project_name"}, Code: "custom", Message: "must not contain a line break"})
	}
	if strings.ContainsRune(p.Model, 0) {
		issues = append(issues, fault.Issue{Path: []any{"model"}, Code: "custom", Message: "must not contain NUL"})
	}
	return issues
}

// TakeInClient sets up a project with plans that wait for the CEO's approval.
func (c Operations) TakeInClient(ctx context.Context, p ClientIntakeParams) (pipeline.ClientIntake, error) {
	if strings.TrimSpace(p.IntakeText) != "" && strings.TrimSpace(p.IntakeFile) != "" {
		return pipeline.ClientIntake{}, fault.New(fault.Conflict, "intake_text and intake_file cannot be combined; omit one of them")
	}
	return pipeline.TakeInClient(ctx, c.Workspace(), c.conductor(), pipeline.ClientSpec{
		Name: strings.TrimSpace(p.ProjectName), CEOActor: strings.TrimSpace(p.CEOActorID), ExecutiveManager: p.ExecutiveManagerID,
		Text: p.IntakeText, File: p.IntakeFile, Model: strings.TrimSpace(p.Model),
	})
}

// AssignTasksParams are the params of pipeline.department.assign_tasks.
type AssignTasksParams struct {
	_ struct{} `is:"strict"`
	company.Dir
	ProjectID       string   `json:"project_id" is:"id"`
	DepartmentKey   string   `json:"department_key"`
	DirectorAgentID string   `json:"director_agent_id" is:"id"`
	WorkerAgentIDs  []string `json:"worker_agent_ids" is:"minitems=1"`
	PlanArtifactID  string   `json:"approved_executive_plan_artifact_id" is:"id"`
}

// CheckFields rejects blank params and invalid ids of workers.
func (p *AssignTasksParams) CheckFields() []fault.Issue {
	issues := slices.Concat(
		company.NotBlank("project_id", p.ProjectID), company.NotBlank("department_key", p.DepartmentKey), company.NotBlank("director_agent_id", p.DirectorAgentID),
		company.NotBlank("approved_executive_plan_artifact_id", p.PlanArtifactID),
	)
	for i, id := range p.WorkerAgentIDs {
		why := shape.CheckID(id)
		if why == "" && strings.TrimSpace(id) == "" {
			why = "must not be blank"
		}
		if why != "" {
			issues = append(issues, fault.Issue{Path: []any{"worker_agent_ids", i}, Code: "custom", Message: why})
		}
	}
	return issues
}

// AssignTasks assigns the work of an approved plan to a department's workers, in the name of its
// director.
func (c Operations) AssignTasks(ctx context.Context, p AssignTasksParams) (pipeline.Assignment, error) {
	return pipeline.Assign(ctx, c.Workspace(), pipeline.AssignSpec{
		ProjectID: p.ProjectID, DepartmentKey: p.DepartmentKey, DirectorID: p.DirectorAgentID, WorkerIDs: p.WorkerAgentIDs, PlanID: p.PlanArtifactID,
	})
}
