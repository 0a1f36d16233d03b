package decisions

// Proposals and reports that agents make with their tools, for people to decide on.

import (
	"cmp"
	"context"

	"ac/company"
	"ac/governance"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace/doc"
)

// AgentProposeParams describe lines that an agent proposes for the memory of its project, or for
// the guidance of an agent, by default its own.
type AgentProposeParams struct {
	company.AsAgent
	OfAgent       bool     `json:"of_agent" is:"default=false"`
	TargetAgentID string   `json:"target_agent_id" is:"optional,id"`
	Title         string   `json:"title"`
	InsertLines   []string `json:"insert_lines" is:"minitems=1"`
	Rationale     string   `json:"rationale"`
	UnderHeading  string   `json:"under_heading" is:"optional"`
}

// Default headings of proposals. A heading that the file lacks is added.
const (
	memoryHeading   = "## Decisions"
	guidanceHeading = "## Notes"
)

// AgentPropose proposes lines for a memory, with the run as evidence.
func (c Operations) AgentPropose(ctx context.Context, p AgentProposeParams) (made governance.DeltaProposal, err error) {
	if p.TargetAgentID != "" && !p.OfAgent {
		return made, fault.InvalidField("target_agent_id", "is for scope agent")
	}
	run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
	if err != nil {
		return made, err
	}
	scope := &doc.DeltaScope{ScopeKind: doc.ScopeProject, Sensitivity: "internal", Rationale: p.Rationale}
	heading := memoryHeading
	if p.OfAgent {
		scope.ScopeKind, scope.ScopeRef = doc.ScopeAgent, cmp.Or(p.TargetAgentID, p.AgentID)
		heading = guidanceHeading
	}
	return governance.ProposeScoped(ctx, c.Workspace(), governance.DeltaSpec{
		ProjectID: p.ProjectID, Title: p.Title, Under: cmp.Or(p.UnderHeading, heading), Lines: p.InsertLines, AtEnd: true,
		Visibility: "team", ProducedBy: p.AgentID, RunID: p.RunID, ContextPackID: run.ContextPackID, Evidence: []string{p.RunID}, Scope: scope,
	})
}

// AgentReportParams describe an agent's report that a milestone is done.
type AgentReportParams struct {
	company.AsAgent
	TaskID      string   `json:"task_id" is:"optional,id"`
	MilestoneID string   `json:"milestone_id" is:"optional,id"`
	Title       string   `json:"title"`
	Summary     string   `json:"summary"`
	Evidence    []string `json:"evidence" is:"optional"`
	Tests       []string `json:"tests" is:"optional"`
}

// AgentReport reports that a milestone is done.
func (c Operations) AgentReport(ctx context.Context, p AgentReportParams) (NewMilestoneReportResult, error) {
	if p.TaskID == "" || p.MilestoneID == "" {
		return NewMilestoneReportResult{}, fault.InvalidField("milestone_id", "task_id and milestone_id are required: the run has none of its own")
	}
	run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
	if err != nil {
		return NewMilestoneReportResult{}, err
	}
	return c.NewMilestoneReport(ctx, NewMilestoneReportParams{
		ProjectParams: company.ProjectParams{Dir: p.Dir, ProjectID: p.ProjectID}, TaskID: p.TaskID, MilestoneID: p.MilestoneID,
		Spec: governance.ReportSpec{
			ArtifactSpec: governance.ArtifactSpec{Title: p.Title, ProducedBy: p.AgentID, RunID: p.RunID, ContextPackID: run.ContextPackID},
			Summary:      p.Summary, Evidence: p.Evidence, Tests: p.Tests,
		},
	})
}
