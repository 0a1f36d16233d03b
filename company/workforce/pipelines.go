package workforce

// Pipelines that commands run: filling an artifact, setting up a project, and planning it.

import (
	"context"

	"ac/company"
	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/runs"
)

// FillArtifactParams are the params of the command artifact:fill.
type FillArtifactParams struct {
	company.Dir
	ProjectID  string            `json:"project" is:"id"`
	ArtifactID string            `json:"artifact" is:"id"`
	AgentID    string            `json:"agent" is:"id"`
	WorkdirRel string            `json:"subdir" is:"optional"`
	Spec       pipeline.FillSpec `json:"-"` // without the fields above
}

// CheckFields rejects a directory outside of its repository.
func (p *FillArtifactParams) CheckFields() []fault.Issue {
	if !runs.Local(p.WorkdirRel) {
		return []fault.Issue{{Path: []any{"subdir"}, Code: "custom", Message: "must be relative and stay inside its root"}}
	}
	return nil
}

// FillArtifact has an agent write an artifact and waits for it.
func (c Operations) FillArtifact(ctx context.Context, p FillArtifactParams) (pipeline.FillResult, error) {
	p.Spec.ProjectID, p.Spec.ArtifactID, p.Spec.AgentID, p.Spec.WorkdirRel = p.ProjectID, p.ArtifactID, p.AgentID, p.WorkdirRel
	return pipeline.Fill(ctx, c.Workspace(), c.conductor(), p.Spec)
}

// IntakeParams are the params of the command pipeline:intake.
type IntakeParams struct {
	company.Dir
	Spec pipeline.IntakeSpec `json:"-"`
}

// TakeIn sets up a project with the artifacts to be written.
func (c Operations) TakeIn(ctx context.Context, p IntakeParams) (pipeline.Intake, error) {
	return pipeline.TakeIn(ctx, c.Workspace(), p.Spec)
}

// MakePlanParams are the params of the command pipeline:plan.
type MakePlanParams struct {
	company.Dir
	Spec pipeline.PlanSpec `json:"-"`
}

// MakePlan sets up a project and has its agents write its plans.
func (c Operations) MakePlan(ctx context.Context, p MakePlanParams) (pipeline.Plan, error) {
	return pipeline.MakePlan(ctx, c.Workspace(), c.conductor(), p.Spec)
}
