package autonoma

// Workflows: templates, their runs, and the phases of a run.

import (
	"cmp"
	"context"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/dialect"
	"ac/internal/fault"
	"ac/workspace/doc"
)

type workflowRow struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Domain      string   `json:"domain"`
	Description string   `json:"description"`
	Pattern     string   `json:"pattern"`
	StepCount   int      `json:"stepCount"`
	Agents      []string `json:"agents"`
}

func listWorkflows(ctx context.Context, c *call, p listWorkflowsParams) (any, error) {
	s := c.server
	found, err := dialect.Do(ctx, s.Company, orchestration.Operations.ListWorkflows, orchestration.ListWorkflowsParams{Dir: s.In(), ProjectID: s.ProjectID, Domain: p.Domain})
	if err != nil {
		return nil, err
	}
	names, err := s.names(ctx)
	rows := make([]workflowRow, len(found.Workflows))
	for i, f := range found.Workflows {
		agents := make([]string, len(f.Agents))
		for n, id := range f.Agents {
			agents[n] = cmp.Or(names[id], id)
		}
		rows[i] = workflowRow{f.WorkflowID, f.Name, f.Domain, f.Description, f.Pattern, f.StepCount, agents}
	}
	return rows, err
}

// names returns the names of the agents, by id.
func (s *server) names(ctx context.Context) (map[string]string, error) {
	rows, err := dialect.Do(ctx, s.Company, (*company.Folder).Agents, company.AgentsParams{Dir: s.In()})
	names := map[string]string{}
	for _, a := range rows {
		names[a.AgentID] = a.Name
	}
	return names, err
}

func (s *server) flow(run string) orchestration.WorkflowRunParams {
	return orchestration.WorkflowRunParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: run}
}

func runWorkflow(ctx context.Context, c *call, p runWorkflowParams) (any, error) {
	s := c.server
	made, err := dialect.Do(ctx, s.Company, orchestration.Operations.RunWorkflow, orchestration.RunWorkflowParams{
		Dir: s.In(), ProjectID: s.ProjectID, WorkflowID: p.WorkflowID, Input: p.Input, Inputs: p.Inputs, Priority: p.Priority,
		Origin: &doc.JobOrigin{Kind: origin, Ref: "workflow"}, ActorID: s.Actor.ActorID, ActorRole: s.Actor.ActorRole,
	})
	if fault.Is(err, fault.NotFound) {
		return nil, protocolError("unknown workflow: " + p.WorkflowID)
	}
	if err != nil {
		return nil, err
	}
	c.after = func() { c.follow(made.RunID, [phaseCount]phase{}) }
	return executionStarted{made.RunID}, nil
}

type workflowStep struct {
	ID     string `json:"id"`
	Agent  string `json:"agent"`
	Status string `json:"status"`
}

type workflowState struct {
	ExecutionID string            `json:"executionId"`
	WorkflowID  string            `json:"workflowId"`
	Status      string            `json:"status"`
	Phase       string            `json:"phase"`
	Progress    int               `json:"progress"`
	Steps       []workflowStep    `json:"steps"`
	Phases      [phaseCount]phase `json:"phases"`
	Artifacts   []artifact        `json:"artifacts"`
	Error       string            `json:"error,omitempty"`
}

func workflowStatus(ctx context.Context, c *call, p executionParams) (any, error) {
	s := c.server
	e, err := s.find(ctx, p.ExecutionID)
	if fault.Is(err, fault.NotFound) || err == nil && e.flow == nil {
		return nil, protocolError("unknown execution: " + p.ExecutionID)
	}
	if err != nil {
		return nil, err
	}
	c.logID = logID(e.id)
	if !e.over {
		c.after = func() { c.follow(e.id, e.phases) }
	}
	names, err := s.names(ctx)
	if err != nil {
		return nil, err
	}
	state := workflowState{
		ExecutionID: e.id, WorkflowID: e.flow.WorkflowID, Status: flowStatus(e.flow.Status), Phase: phaseOf(e.phases), Progress: e.flow.Progress,
		Steps: make([]workflowStep, len(e.flow.Steps)), Phases: e.phases, Artifacts: []artifact{}, Error: e.failure,
	}
	for i, step := range e.flow.Steps {
		state.Steps[i] = workflowStep{step.Step, cmp.Or(names[step.AgentID], step.AgentID), stepStatus(step.Status)}
	}
	if e.over {
		state.Artifacts, _, err = s.artifacts(ctx, decisions.ListFilesParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: e.id})
	}
	return state, err
}

func flowStatus(status string) string {
	switch status {
	case doc.FlowWaitingInput:
		return "waiting"
	case doc.FlowSucceeded:
		return "completed"
	case doc.FlowCanceled:
		return "cancelled"
	}
	return status
}

func stepStatus(status string) string {
	switch status {
	case doc.StepSucceeded:
		return "completed"
	case doc.StepCanceled:
		return "cancelled"
	}
	return status
}

func cancelWorkflow(ctx context.Context, c *call, p executionParams) (any, error) {
	s := c.server
	_, err := dialect.Do(ctx, s.Company, orchestration.Operations.CancelWorkflow, s.flow(p.ExecutionID))
	if unknown(err) {
		return nil, protocolError("unknown execution: " + p.ExecutionID)
	}
	return nil, err
}

// flowExecution returns the current state of a workflow run.
func (s *server) flowExecution(ctx context.Context, flow orchestration.WorkflowStatus) (execution, error) {
	e := execution{
		id: flow.RunID, run: flow.RunID, task: cmp.Or(flow.Input, flow.WorkflowID), agent: flow.WorkflowID, startedAt: flow.Rounds[0].StartedAt,
		over: flow.Over(), succeeded: flow.Status == doc.FlowSucceeded, canceled: flow.Status == doc.FlowCanceled,
		completedAt: flow.EndedAt, text: flow.Text, flow: &flow,
	}
	switch {
	case e.canceled:
		e.failure = "cancelled"
	case flow.Error != nil:
		e.failure = cmp.Or(flow.Error.Message, flow.Error.Code)
	}
	steps := make([]flowStep, len(flow.Steps))
	for i, step := range flow.Steps {
		steps[i] = flowStep{phase: research, started: step.StartedAt, over: step.Over()}
		if step.JobID == "" || step.Status == doc.StepQueued {
			continue
		}
		record, err := s.record(ctx, step.JobID)
		if err != nil && !unknown(err) {
			return e, err
		}
		if err == nil && record.Last() != nil && record.Order != nil {
			steps[i].phase = answerPhase(record.Order.Answer)
		}
	}
	e.phases = flowPhases(steps, e.over, e.succeeded)
	return e, nil
}

// answerPhase returns the phase of a step according to the kind of its answer.
func answerPhase(kind string) int {
	switch kind {
	case doc.AnswerPlan:
		return inspect
	case doc.AnswerVerdict:
		return optimize
	case doc.AnswerReview:
		return review
	}
	return generate
}

// flowStep holds what determines the phase of a step.
type flowStep struct {
	phase   int
	started string
	over    bool
}

// flowPhases returns the phases of a run. The furthest phase of any step is the current one.
func flowPhases(steps []flowStep, over, succeeded bool) [phaseCount]phase {
	var phases [phaseCount]phase
	now := research
	for _, step := range steps {
		now = max(now, step.phase)
	}
	for i, name := range phaseNames() {
		phases[i] = phase{Name: name, Status: phasePending}
		switch {
		case succeeded || i < now:
			phases[i].Status, phases[i].Progress = phaseCompleted, 100
		case i == now:
			phases[i].Status, phases[i].Progress = phaseRunning, partOver(steps, now)
			if over {
				phases[i].Status = phaseFailed
			}
		}
	}
	return phases
}

// partOver returns the progress of a phase: the share of its steps that are over.
func partOver(steps []flowStep, now int) int {
	begun, ended := 0, 0
	for _, step := range steps {
		if step.phase != now {
			continue
		}
		begun++
		if step.over {
			ended++
		}
	}
	if begun == 0 {
		return 0
	}
	return ended * most / begun
}
