package company

// What agents write for a project, which only commands ask for: filling an
// artifact, setting a project up, planning it.

import (
	"context"

	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/runs"
)

// FillArtifactParams are what artifact:fill is asked for.
type FillArtifactParams struct {
	Dir
	ProjectID  string            `json:"project" is:"id"`
	ArtifactID string            `json:"artifact" is:"id"`
	AgentID    string            `json:"agent" is:"id"`
	WorkdirRel string            `json:"subdir" is:"optional"`
	Spec       pipeline.FillSpec `json:"-"` // but for these
}

// CheckFields refuses a directory that leads out of its repository.
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

// IntakeParams are what pipeline:intake is asked for.
type IntakeParams struct {
	Dir
	Spec pipeline.IntakeSpec `json:"-"`
}

// TakeIn sets a project up with what is to be written about it.
func (c *Company) TakeIn(ctx context.Context, p IntakeParams) (pipeline.Intake, error) {
	return pipeline.TakeIn(ctx, c.w, p.Spec)
}

// MakePlanParams are what pipeline:plan is asked for.
type MakePlanParams struct {
	Dir
	Spec pipeline.PlanSpec `json:"-"`
}

// MakePlan sets a project up and has its agents write what it begins with.
func (c *Company) MakePlan(ctx context.Context, p MakePlanParams) (pipeline.Plan, error) {
	return pipeline.MakePlan(ctx, c.w, c.conductor(), p.Spec)
}
