package pipeline

// Planning: an intake whose artifacts are written immediately, each by its agent from what was
// written before.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"ac/governance"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
)

// PlanSpec is an intake with the brief that everything is written from.
type PlanSpec struct {
	IntakeSpec
	Brief string
	Model string
}

// ArtifactRun is a written artifact with the run that wrote it.
type ArtifactRun struct {
	ArtifactID    string `json:"artifact_id"`
	RunID         string `json:"run_id"`
	ContextPackID string `json:"context_pack_id"`
}

// Plan is the outcome of planning.
type Plan struct {
	ProjectID        string                 `json:"project_id"`
	IntakeBrief      ArtifactRun            `json:"intake_brief"`
	ClarificationsQA ArtifactRun            `json:"clarifications_qa"`
	ManagerProposals map[string]ArtifactRun `json:"manager_proposals"`
	Workplan         ArtifactRun            `json:"workplan"`
	UsageEstimate    UsageEstimate          `json:"usage_estimate"`
}

// planning is a plan in progress.
type planning struct {
	PlanSpec
	w         *workspace.Workspace
	conductor runs.Conductor
	project   string
	people    crew
}

// stage is one artifact of a plan: what to fill, and the outcome.
type stage struct {
	name     string
	label    string // for errors
	artifact string
	agent    doc.Agent
	prompt   string
	planned  ArtifactRun
	text     string // text of the artifact
}

// MakePlan sets up a project and has its artifacts written: the brief, the clarifications, the
// proposals of the managers concurrently, and the workplan. A fill that fails ends it with an
// error that names the step. The project keeps what was written so far.
func MakePlan(ctx context.Context, w *workspace.Workspace, conductor runs.Conductor, spec PlanSpec) (plan Plan, err error) {
	if strings.TrimSpace(spec.Brief) == "" {
		return plan, fault.InvalidField("intake", "must not be blank")
	}
	made, err := TakeIn(ctx, w, spec.IntakeSpec)
	if err != nil {
		return plan, err
	}
	p := &planning{PlanSpec: spec, w: w, conductor: conductor, project: made.ProjectID}
	if p.people, err = spec.people(w); err != nil {
		return plan, err
	}
	stages, err := p.fill(ctx, made)
	if err != nil {
		return plan, fmt.Errorf("project %s was set up, but %w", made.ProjectID, err)
	}
	plan = Plan{
		ProjectID: made.ProjectID, IntakeBrief: stages[0].planned, ClarificationsQA: stages[1].planned,
		ManagerProposals: map[string]ArtifactRun{}, Workplan: stages[len(stages)-1].planned,
	}
	for _, s := range stages[2 : len(stages)-1] {
		plan.ManagerProposals[s.agent.ID] = s.planned
	}
	if plan.UsageEstimate, err = p.estimate(stages); err != nil {
		return plan, err
	}
	text, err := json.MarshalIndent(plan.UsageEstimate, "", "  ")
	if err != nil {
		return plan, err
	}
	name := workspace.RunDir(p.project, plan.Workplan.RunID) + "/outputs/planning_usage_estimate.json"
	return plan, w.Replace(name, append(text, '\n'), 0o644)
}

// fill writes all artifacts and returns the stages in order.
func (p *planning) fill(ctx context.Context, made Intake) ([]*stage, error) {
	brief := &stage{
		name: "intake_brief", label: "the intake brief", artifact: made.Artifacts.IntakeBrief, agent: p.people.ceo,
		prompt: "Write the intake brief of the project " + p.Name + " from this request:\n\n" + strings.TrimSpace(p.Brief),
	}
	if err := p.write(ctx, brief); err != nil {
		return nil, err
	}
	clarifications := &stage{
		name: "clarifications_qa", label: "the clarifications", artifact: made.Artifacts.ClarificationsQA, agent: p.people.director,
		prompt: "Ask what is open in the intake brief of the project " + p.Name + ", and answer what can be answered from it." + quoted("The intake brief", brief.text),
	}
	if err := p.write(ctx, clarifications); err != nil {
		return nil, err
	}
	known := quoted("The intake brief", brief.text) + quoted("The clarifications", clarifications.text)
	proposals, err := p.propose(ctx, made, known)
	if err != nil {
		return nil, err
	}
	var prompt strings.Builder
	prompt.WriteString("Write the workplan of the project " + p.Name + " from what was clarified and proposed." + known)
	for _, s := range proposals {
		prompt.WriteString(quoted("The proposal of "+plain(s.agent.Name), s.text))
	}
	workplan := &stage{name: "workplan", label: "the workplan", artifact: made.Artifacts.Workplan, agent: p.people.director, prompt: prompt.String()}
	if err := p.write(ctx, workplan); err != nil {
		return nil, err
	}
	return append(append([]*stage{brief, clarifications}, proposals...), workplan), nil
}

// propose has the managers write their proposals concurrently.
func (p *planning) propose(ctx context.Context, made Intake, known string) ([]*stage, error) {
	stages := make([]*stage, len(p.people.managers))
	failures := make([]error, len(stages))
	var group sync.WaitGroup
	for i, manager := range p.people.managers {
		stages[i] = &stage{
			name: "manager_proposal", label: "the proposal of " + manager.ID, artifact: made.Artifacts.ManagersProposals[manager.ID], agent: manager,
			prompt: fmt.Sprintf("You are %s of %s. Propose the part of your team in the project %s.", plain(manager.Name), p.team(manager), p.Name) + known,
		}
		group.Go(func() { failures[i] = p.write(ctx, stages[i]) })
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return stages, nil
}

// team describes the team of an agent in words.
func (p *planning) team(agent doc.Agent) string {
	if agent.TeamID == "" {
		return "no team"
	}
	if team, err := p.w.Team(agent.TeamID); err == nil {
		return "the team " + plain(team.Name)
	}
	return "the team " + plain(agent.TeamID)
}

// write fills the artifact of a stage.
func (p *planning) write(ctx context.Context, s *stage) error {
	filled, err := Fill(ctx, p.w, p.conductor, FillSpec{
		ProjectID: p.project, ArtifactID: s.artifact, AgentID: s.agent.ID, Model: p.Model, Prompt: s.prompt,
	})
	if err != nil {
		return fmt.Errorf("%s could not be written: %w", s.label, err)
	}
	if !filled.OK {
		where := ""
		if filled.RunID != "" {
			where = " (run " + filled.RunID + ")"
		}
		return fault.New(fault.Unfilled, "%s could not be written: %s%s", s.label, filled.Error, where)
	}
	s.planned = ArtifactRun{filled.ArtifactID, filled.RunID, filled.ContextPackID}
	text, err := p.w.Read(governance.ArtifactFile(p.project, s.artifact))
	s.text = string(text)
	return err
}

// quoted formats a document for use inside instructions.
func quoted(title, text string) string {
	return "\n\n" + title + ":\n\n" + strings.TrimSpace(text)
}

func plain(text string) string { return strings.Join(strings.Fields(text), " ") }
