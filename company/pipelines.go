package company

// What agents write for a project, which only commands ask for: filling an
// artifact, setting a project up, planning it.

import (
	"context"

	"ac/governance/pipeline"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs"
)

// FillArtifact has an agent write an artifact and waits for it.
func (c *Company) FillArtifact(ctx context.Context, p pipeline.FillSpec) (pipeline.Filled, error) {
	var issues []fault.Issue
	for _, id := range []struct{ field, value string }{{"project", p.ProjectID}, {"artifact", p.ArtifactID}, {"agent", p.AgentID}} {
		if why := shape.CheckID(id.value); why != "" {
			issues = append(issues, fault.Issue{Path: []any{id.field}, Code: "custom", Message: why})
		}
	}
	if !runs.Local(p.WorkdirRel) {
		issues = append(issues, fault.Issue{Path: []any{"subdir"}, Code: "custom", Message: "must be relative and stay inside its root"})
	}
	if len(issues) > 0 {
		return pipeline.Filled{}, fault.Invalid(issues...)
	}
	w, err := c.workspace(ctx)
	if err != nil {
		return pipeline.Filled{}, err
	}
	return pipeline.Fill(ctx, w, c.conductor(), p)
}

// TakeIn sets a project up with what is to be written about it.
func (c *Company) TakeIn(ctx context.Context, p pipeline.IntakeSpec) (pipeline.Intake, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return pipeline.Intake{}, err
	}
	return pipeline.TakeIn(ctx, w, p)
}

// MakePlan sets a project up and has its agents write what it begins with.
func (c *Company) MakePlan(ctx context.Context, p pipeline.PlanSpec) (pipeline.Plan, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return pipeline.Plan{}, err
	}
	return pipeline.MakePlan(ctx, w, c.conductor(), p)
}
