package company

// Pipelines of commands: filling an artifact, setting up a project, planning
// it.

import (
	"context"

	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/runs"
)

// FillArtifactParams are the params of the command artifact:fill.
type FillArtifactParams struct {
	Dir
	ProjectID  string            `json:"project" is:"id"`
	ArtifactID string            `json:"artifact" is:"id"`
	AgentID    string            `json:"agent" is:"id"`
	WorkdirRel string            `json:"subdir" is:"optional"`
	Spec       pipeline.FillSpec `json:"-"` // except for these
}

// CheckFields refuses a directory that leaves its repository.
func (p *FillArtifactParams) CheckFields() []fault.Issue {
	if !runs.Local(p.WorkdirRel) {
		return []fault.Issue{{Path: []any{"subdir"}, Code: "custom", Message: "must be relative and stay inside its root"}}
	}
	return nil
}

// FillArtifact has an agent write an artifact and waits for it.
func (c *Company) FillArtifact(ctx context.Context, p FillArtifactParams) (pipeline.FillResult, error) {
	p.Spec.ProjectID, p.Spec.ArtifactID, p.Spec.AgentID, p.Spec.WorkdirRel = p.ProjectID, p.ArtifactID, p.AgentID, p.WorkdirRel
	return pipeline.Fill(ctx, c.w, c.conductor(), p.Spec)
}

// IntakeParams are the params of the command pipeline:intake.
type IntakeParams struct {
	Dir
	Spec pipeline.IntakeSpec `json:"-"`
}

// TakeIn sets up a project with the artifacts to be written.
func (c *Company) TakeIn(ctx context.Context, p IntakeParams) (pipeline.Intake, error) {
	return pipeline.TakeIn(ctx, c.w, p.Spec)
}

// MakePlanParams are the params of the command pipeline:plan.
type MakePlanParams struct {
	Dir
	Spec pipeline.PlanSpec `json:"-"`
}

// MakePlan sets up a project and lets its agents write its plans.
func (c *Company) MakePlan(ctx context.Context, p MakePlanParams) (pipeline.Plan, error) {
	return pipeline.MakePlan(ctx, c.w, c.conductor(), p.Spec)
}
