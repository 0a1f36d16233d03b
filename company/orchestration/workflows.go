package orchestration

// workflow.*: templates of agent workflows, and their runs.

import (
	"context"
	"errors"
	"slices"
	"time"

	"ac/company"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

// ListWorkflowsParams are the params of workflow.list.
type ListWorkflowsParams struct {
	company.Dir
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	Domain    string `json:"domain,omitempty" is:"optional"`
}

// WorkflowRow is a template in a list.
type WorkflowRow struct {
	WorkflowID  string              `json:"workflow_id"`
	Name        string              `json:"name"`
	Domain      string              `json:"domain"`
	Description string              `json:"description"`
	Pattern     string              `json:"pattern"`
	StepCount   int                 `json:"step_count"`
	Agents      []string            `json:"agents"`
	Inputs      []doc.WorkflowInput `json:"inputs"`
}

// ListWorkflowsResult is the result of workflow.list.
type ListWorkflowsResult struct {
	Workflows []WorkflowRow      `json:"workflows"`
	Problems  []workflow.Problem `json:"problems"`
}

func workflowRow(f workflow.StoredTemplate) WorkflowRow {
	return WorkflowRow{
		f.ID, f.Name, f.Domain, f.Description, f.Pattern(), f.StepCount(), f.Agents(), append([]doc.WorkflowInput{}, f.Inputs...),
	}
}

// ListWorkflows lists the workflow templates by id.
func (c Operations) ListWorkflows(_ context.Context, p ListWorkflowsParams) (ListWorkflowsResult, error) {
	found, problems, err := workflow.List(c.Workspace(), p.Domain)
	rows := make([]WorkflowRow, 0, len(found))
	for _, f := range found {
		rows = append(rows, workflowRow(f))
	}
	return ListWorkflowsResult{rows, problems}, err
}

// GetWorkflowParams are the params of workflow.get.
type GetWorkflowParams struct {
	company.Dir
	WorkflowID string `json:"workflow_id"`
}

// GetWorkflowResult is the result of workflow.get.
type GetWorkflowResult struct {
	WorkflowRow
	Template shape.Value `json:"template"`
}

// GetWorkflow returns a template.
func (c Operations) GetWorkflow(_ context.Context, p GetWorkflowParams) (GetWorkflowResult, error) {
	found, err := workflow.Get(c.Workspace(), p.WorkflowID)
	if err != nil {
		return GetWorkflowResult{}, err
	}
	return GetWorkflowResult{workflowRow(found), found.Whole}, nil
}

// CheckWorkflowParams are the params of workflow.check.
type CheckWorkflowParams struct {
	company.Dir
	WorkflowID string        `json:"workflow_id,omitempty" is:"optional"`
	Template   shape.Value   `json:"template" is:"optional,object"`
	Place      *doc.JobPlace `json:"place,omitempty" is:"optional"`
}

// CheckFields requires exactly one of workflow_id and template.
func (p *CheckWorkflowParams) CheckFields() []fault.Issue {
	return oneTemplate(p.WorkflowID, p.Template)
}

func oneTemplate(id string, template shape.Value) []fault.Issue {
	if (id == "") == (template.Kind == shape.Absent) {
		return []fault.Issue{{Path: []any{"workflow_id"}, Code: "custom", Message: "exactly one of workflow_id and template must be given"}}
	}
	return nil
}

// WorkflowIssue is an error in a template.
type WorkflowIssue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// CheckWorkflowResult is the result of workflow.check.
type CheckWorkflowResult struct {
	Name      string            `json:"name"`
	Pattern   string            `json:"pattern"`
	StepCount int               `json:"step_count"`
	Agents    []workflow.Choice `json:"agents"`
	Issues    []WorkflowIssue   `json:"issues"`
}

// CheckWorkflow returns the errors in a template and the agents that it would use. It also checks
// whether its repository is on this machine.
func (c Operations) CheckWorkflow(_ context.Context, p CheckWorkflowParams) (CheckWorkflowResult, error) {
	result := CheckWorkflowResult{Agents: []workflow.Choice{}, Issues: []WorkflowIssue{}}
	value, err := c.template(p.WorkflowID, p.Template)
	if err != nil {
		return result, err
	}
	t, err := doc.BindWorkflow(&value)
	result.Name = t.Name
	if refused, ok := errors.AsType[*fault.Error](workflow.ParamError(err, "template")); ok && refused.Reason == fault.InvalidParams {
		for _, issue := range refused.Issues {
			issue.Path = issue.Path[1:]
			result.Issues = append(result.Issues, WorkflowIssue{issue.Field(), issue.Message})
		}
		return result, nil
	}
	if err != nil {
		return result, err
	}
	for _, issue := range workflow.ModeIssues(&t) {
		issue.Path = issue.Path[1:]
		result.Issues = append(result.Issues, WorkflowIssue{issue.Field(), issue.Message})
	}
	place := p.Place
	if place == nil {
		place = t.Place
	}
	if place != nil {
		machine, err := c.Workspace().Machine()
		if err != nil {
			return result, err
		}
		if _, err := worktree.Root(machine, place.RepoID); err != nil {
			result.Issues = append(result.Issues, WorkflowIssue{"place.repo_id", err.Error()})
		}
	}
	result.Pattern, result.StepCount = t.Pattern(), t.StepCount()
	result.Agents, err = c.Flows().Choices(&t)
	return result, err
}

// template returns a stored template by id or, if id is "", the given one.
func (c Operations) template(id string, given shape.Value) (shape.Value, error) {
	if id == "" {
		return given, nil
	}
	found, err := workflow.Get(c.Workspace(), id)
	return found.Whole, err
}

// PutWorkflowParams are the params of workflow.put.
type PutWorkflowParams struct {
	company.Dir
	Template  shape.Value `json:"template" is:"object"`
	ActorID   string      `json:"actor_id"`
	ActorRole string      `json:"actor_role" is:"role"`
}

// PutWorkflowResult is the result of workflow.put.
type PutWorkflowResult struct {
	WorkflowID string `json:"workflow_id"`
	Path       string `json:"path"`
}

// PutWorkflow stores a template. Workers may not.
func (c Operations) PutWorkflow(ctx context.Context, p PutWorkflowParams) (PutWorkflowResult, error) {
	actor, err := policy.Effective(c.Workspace(), policy.Actor{ID: p.ActorID, Role: p.ActorRole})
	if err != nil {
		return PutWorkflowResult{}, err
	}
	if actor.Role == "worker" {
		return PutWorkflowResult{}, fault.New(fault.Denied, "a workflow is written by a manager or a person, and %s is a worker", p.ActorID)
	}
	id, file, err := workflow.Put(ctx, c.Workspace(), p.Template)
	return PutWorkflowResult{id, file}, workflow.ParamError(err, "template")
}

// RunWorkflowParams are the params of workflow.run.
type RunWorkflowParams struct {
	company.Dir
	ProjectID  string            `json:"project_id" is:"id"`
	WorkflowID string            `json:"workflow_id,omitempty" is:"optional"`
	Template   shape.Value       `json:"template" is:"optional,object"`
	RunID      string            `json:"run_id,omitempty" is:"optional,id"`
	Input      string            `json:"input" is:"default=,empty,maxbytes=1048576"`
	Inputs     map[string]string `json:"inputs,omitempty" is:"optional,empty,maxbytes=1048576"`
	Priority   string            `json:"priority" is:"default=normal,enum=low|normal|high"`
	Place      *doc.JobPlace     `json:"place,omitempty" is:"optional"`
	Origin     *doc.JobOrigin    `json:"origin,omitempty" is:"optional"`
	SourcePath string            `json:"source_path,omitempty" is:"optional,maxbytes=4096"`
	// Budget limits what all attempts of the run may spend. By default, the template's budget
	// applies.
	Budget    *doc.Budget `json:"budget,omitempty" is:"optional"`
	ActorID   string      `json:"actor_id" is:"default=human"`
	ActorRole string      `json:"actor_role" is:"default=human,role"`
	// Said holds earlier messages of people, and Notices additional notices for the log. Only
	// clients in this process set them.
	Said    []string `json:"-"`
	Notices []string `json:"-"`
}

// CheckFields requires exactly one template.
func (p *RunWorkflowParams) CheckFields() []fault.Issue { return oneTemplate(p.WorkflowID, p.Template) }

// RunWorkflowResult is the result of workflow.run.
type RunWorkflowResult struct {
	RunID  string `json:"run_id"`
	Status string `json:"status"`
}

// RunWorkflow starts a workflow run.
func (c Operations) RunWorkflow(ctx context.Context, p RunWorkflowParams) (RunWorkflowResult, error) {
	template, err := c.template(p.WorkflowID, p.Template)
	if err != nil {
		return RunWorkflowResult{}, err
	}
	record, err := c.Flows().Run(ctx, workflow.Start{
		ProjectID: p.ProjectID, RunID: p.RunID, WorkflowID: p.WorkflowID, Template: template, Input: p.Input, Inputs: p.Inputs,
		Priority: p.Priority, Place: p.Place, Origin: p.Origin, SourcePath: p.SourcePath, Budget: p.Budget, Actor: policy.Actor{ID: p.ActorID, Role: p.ActorRole},
		Said: p.Said, Notices: p.Notices,
	})
	return RunWorkflowResult{record.RunID, record.Status}, workflow.ParamError(err, "template")
}

// WorkflowRunParams are the params of workflow.cancel.
type WorkflowRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
}

// WorkflowStatusParams are the params of workflow.status.
type WorkflowStatusParams struct {
	company.Dir
	ProjectID    string `json:"project_id" is:"id"`
	RunID        string `json:"run_id" is:"id"`
	WithText     bool   `json:"with_text" is:"default=false"`
	WithPassages bool   `json:"with_passages" is:"default=false"`
}

// WorkflowStatus is a workflow run as returned by workflow.status.
type WorkflowStatus struct {
	doc.WorkflowRun
	// Templates hides the record's templates, which are long. workflow.yaml has them.
	Templates *struct{}          `json:"templates,omitempty"`
	Progress  int                `json:"progress"`
	Passages  []workflow.Passage `json:"passages,omitempty"`
}

// StatusOfWorkflow returns the status of a workflow run. It first advances the run if a step is
// due.
func (c Operations) StatusOfWorkflow(ctx context.Context, p WorkflowStatusParams) (WorkflowStatus, error) {
	record, err := c.Flows().Advance(ctx, p.ProjectID, p.RunID)
	if err != nil {
		return WorkflowStatus{}, err
	}
	status, err := workflowStatus(record, p.WithText)
	if err != nil || !p.WithPassages {
		return status, err
	}
	templates, err := workflow.Templates(record)
	if err != nil {
		return status, err
	}
	status.Passages = workflow.Passages(templates, record)
	for i := range status.Passages {
		c.fillPassage(p.ProjectID, &status.Passages[i])
	}
	return status, nil
}

// awaitWorkflowEvery is how often AwaitWorkflow polls.
const awaitWorkflowEvery = 100 * time.Millisecond

// AwaitWorkflowParams identify a run to follow. Each is called with every observed state,
// including the last.
type AwaitWorkflowParams struct {
	WorkflowStatusParams
	Each func(WorkflowStatus)
}

// AwaitWorkflow follows a workflow run to its end. Only commands use it.
func (c Operations) AwaitWorkflow(ctx context.Context, p AwaitWorkflowParams) (WorkflowStatus, error) {
	ticker := time.NewTicker(awaitWorkflowEvery)
	defer ticker.Stop()
	for {
		status, err := c.StatusOfWorkflow(ctx, p.WorkflowStatusParams)
		if err == nil {
			p.Each(status)
		}
		if err != nil || status.Over() {
			return status, err
		}
		select {
		case <-ctx.Done():
			return status, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// fillPassage adds the run of a passage's last attempt and its usage.
func (c Operations) fillPassage(project string, p *workflow.Passage) {
	if p.JobID == "" {
		return
	}
	record, err := job.Load(c.Workspace(), project, p.JobID)
	if err != nil || record.Last() == nil {
		return // the passage stays as it is
	}
	p.RunID = record.Last().RunID
	if run, err := runs.Load(c.Workspace(), project, p.RunID); err == nil {
		p.Usage = run.Usage
	}
}

func workflowStatus(record doc.WorkflowRun, texts bool) (WorkflowStatus, error) {
	templates, err := workflow.Templates(record)
	if err != nil {
		return WorkflowStatus{}, err
	}
	status := WorkflowStatus{WorkflowRun: record, Progress: workflow.Progress(templates, record)}
	status.WorkflowRun.Templates = nil
	if !texts {
		status.Steps = slices.Clone(status.Steps)
		for i := range status.Steps {
			status.Steps[i].Text = ""
		}
	}
	return status, nil
}

// ListWorkflowRunsParams are the params of workflow.runs.
type ListWorkflowRunsParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	WorkflowID string `json:"workflow_id,omitempty" is:"optional"`
	Status     string `json:"status,omitempty" is:"optional,enum=running|waiting_input|succeeded|failed|canceled"`
	Limit      int    `json:"limit" is:"default=50,min=1,cut=500"`
}

// ListWorkflowRuns lists the workflow runs of a project, newest first. It leaves out runs with an
// unreadable record.
func (c Operations) ListWorkflowRuns(ctx context.Context, p ListWorkflowRunsParams) ([]WorkflowStatus, error) {
	rows := []WorkflowStatus{}
	listed, err := runs.List(c.Workspace(), p.ProjectID)
	if err != nil {
		return rows, err
	}
	for _, run := range listed {
		if len(rows) >= p.Limit {
			break
		}
		if run.Provider != workflow.Provider {
			continue
		}
		record, err := c.Flows().Advance(ctx, p.ProjectID, run.RunID)
		if err != nil || (p.Status != "" && p.Status != record.Status) || (p.WorkflowID != "" && p.WorkflowID != record.WorkflowID) {
			continue
		}
		if row, err := workflowStatus(record, false); err == nil {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// ContinueWorkflowParams are the params of workflow.continue.
type ContinueWorkflowParams struct {
	company.Dir
	ProjectID string      `json:"project_id" is:"id"`
	RunID     string      `json:"run_id" is:"id"`
	Input     string      `json:"input" is:"empty,maxbytes=1048576"`
	Template  shape.Value `json:"template" is:"optional,object"`
	ActorID   string      `json:"actor_id" is:"default=human"`
	ActorRole string      `json:"actor_role" is:"default=human,role"`
	// Notices are as in RunWorkflowParams. Place is where the run works from now on. It applies
	// only if Moves is set.
	Notices []string      `json:"-"`
	Place   *doc.JobPlace `json:"-"`
	Moves   bool          `json:"-"`
}

// ContinueWorkflowResult is the result of workflow.continue.
type ContinueWorkflowResult struct {
	RunID  string `json:"run_id"`
	Round  int    `json:"round"`
	Status string `json:"status"`
}

// ContinueWorkflow starts another round of a finished workflow run.
func (c Operations) ContinueWorkflow(ctx context.Context, p ContinueWorkflowParams) (ContinueWorkflowResult, error) {
	var with *shape.Value
	if p.Template.Kind != shape.Absent {
		with = &p.Template
	}
	record, err := c.Flows().Continue(ctx, workflow.ContinueRequest{
		ProjectID: p.ProjectID, RunID: p.RunID, Input: p.Input, Template: with, Notices: p.Notices, Place: p.Place, Moves: p.Moves,
		Actor: policy.Actor{ID: p.ActorID, Role: p.ActorRole},
	})
	if err != nil {
		return ContinueWorkflowResult{}, workflow.ParamError(err, "template")
	}
	return ContinueWorkflowResult{p.RunID, record.Round().Round, record.Status}, nil
}

// CancelWorkflow marks a workflow run as canceled and stops its active steps.
func (c Operations) CancelWorkflow(ctx context.Context, p WorkflowRunParams) (WorkflowStatus, error) {
	record, err := c.Flows().Cancel(ctx, p.ProjectID, p.RunID)
	if err != nil {
		return WorkflowStatus{}, err
	}
	return workflowStatus(record, false)
}
