package workforce

// task.*: listing, reading and creating tasks, and changing their plans. Commands also add
// milestones.

import (
	"context"
	"strings"

	"ac/company"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/pm"
	"ac/snapshot"
	"ac/workspace"
	"ac/workspace/doc"
)

// ListTasksParams are the params of task.list.
type ListTasksParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
}

// ListTasksResult is the result of task.list.
type ListTasksResult struct {
	WorkspaceDir string    `json:"workspace_dir"`
	ProjectID    string    `json:"project_id"`
	Tasks        []TaskRow `json:"tasks"`
}

// TaskRow is a task in a list.
type TaskRow struct {
	TaskID          string             `json:"task_id"`
	ProjectID       string             `json:"project_id"`
	Relpath         string             `json:"relpath"`
	AbsPath         string             `json:"abs_path"`
	Frontmatter     doc.Task           `json:"frontmatter"`
	ProgressRatio   float64            `json:"progress_ratio"`
	MilestoneCounts pm.MilestoneCounts `json:"milestone_counts"`
}

// ListTasks lists the tasks of a project, newest first.
func (c Operations) ListTasks(_ context.Context, p ListTasksParams) (ListTasksResult, error) {
	result := ListTasksResult{WorkspaceDir: c.Given(), ProjectID: p.ProjectID, Tasks: []TaskRow{}}
	tasks, err := pm.Tasks(c.Workspace(), p.ProjectID)
	for _, t := range tasks {
		result.Tasks = append(result.Tasks, TaskRow{
			TaskID: t.ID, ProjectID: p.ProjectID, Relpath: workspace.TaskFile(p.ProjectID, t.ID), AbsPath: c.AbsoluteName(workspace.TaskFile(p.ProjectID, t.ID)),
			Frontmatter: t, ProgressRatio: t.Progress(), MilestoneCounts: pm.CountMilestones(t),
		})
	}
	return result, err
}

// PlannedSchedule is the schedule in a plan change.
type PlannedSchedule struct {
	_                struct{} `is:"strict"`
	PlannedStart     string   `json:"planned_start,omitzero" is:"optional"`
	PlannedEnd       string   `json:"planned_end,omitzero" is:"optional"`
	DurationDays     *int     `json:"duration_days,omitzero" is:"optional,min=1,max=36500"`
	DependsOnTaskIDs []string `json:"depends_on_task_ids,omitzero" is:"default="`
}

// CheckFields requires valid dates. The end must not be before the start.
func (s *PlannedSchedule) CheckFields() []fault.Issue {
	issues := checkDates(company.NamedText{Name: "planned_start", Value: s.PlannedStart}, company.NamedText{Name: "planned_end", Value: s.PlannedEnd})
	if len(issues) > 0 {
		return issues
	}
	return s.schedule().Check()
}

func (s *PlannedSchedule) schedule() *doc.Schedule {
	return &doc.Schedule{PlannedStart: s.PlannedStart, PlannedEnd: s.PlannedEnd, DurationDays: s.DurationDays, DependsOnTaskIDs: s.DependsOnTaskIDs}
}

func checkDates(fields ...company.NamedText) (issues []fault.Issue) {
	for _, f := range fields {
		if _, ok := clock.ParseDate(f.Value); f.Value != "" && !ok {
			issues = append(issues, fault.Issue{Path: []any{f.Name}, Code: "custom", Message: "must be a date such as 2026-11-20, or a timestamp such as 2026-11-20T14:58:45Z"})
		}
	}
	return issues
}

// PlannedExecution is the execution plan in a plan change.
type PlannedExecution struct {
	_                 struct{} `is:"strict"`
	PreferredProvider string   `json:"preferred_provider,omitzero" is:"optional"`
	PreferredModel    string   `json:"preferred_model,omitzero" is:"optional"`
	PreferredAgentID  string   `json:"preferred_agent_id,omitzero" is:"optional"`
	TokenBudgetHint   *int64   `json:"token_budget_hint,omitzero" is:"optional,min=0"`
	AppliedBy         string   `json:"applied_by,omitzero" is:"optional"`
	AppliedAt         string   `json:"applied_at,omitzero" is:"optional"`
}

// CheckFields requires a valid time.
func (e *PlannedExecution) CheckFields() []fault.Issue {
	return checkDates(company.NamedText{Name: "applied_at", Value: e.AppliedAt})
}

// UpdatePlanParams are the params of task.update_plan.
type UpdatePlanParams struct {
	company.Dir
	ProjectID          string            `json:"project_id" is:"id"`
	TaskID             string            `json:"task_id" is:"id"`
	Schedule           *PlannedSchedule  `json:"schedule,omitzero" is:"optional"`
	ExecutionPlan      *PlannedExecution `json:"execution_plan,omitzero" is:"optional"`
	ClearSchedule      bool              `json:"clear_schedule,omitzero" is:"default=false"`
	ClearExecutionPlan bool              `json:"clear_execution_plan,omitzero" is:"default=false"`
}

// UpdatePlanResult is the result of task.update_plan.
type UpdatePlanResult struct {
	TaskID      string   `json:"task_id"`
	TaskPath    string   `json:"task_path"`
	Frontmatter doc.Task `json:"frontmatter"`
}

// UpdatePlan changes the schedule and the execution plan of a task.
func (c Operations) UpdatePlan(ctx context.Context, p UpdatePlanParams) (result UpdatePlanResult, err error) {
	result = UpdatePlanResult{TaskID: p.TaskID, TaskPath: c.AbsoluteName(workspace.TaskFile(p.ProjectID, p.TaskID))}
	change := pm.PlanChange{ClearSchedule: p.ClearSchedule, ClearExecution: p.ClearExecutionPlan}
	if p.Schedule != nil {
		change.Schedule = p.Schedule.schedule()
	}
	if e := p.ExecutionPlan; e != nil {
		change.ExecutionPlan = &doc.ExecutionPlan{
			PreferredProvider: e.PreferredProvider, PreferredModel: e.PreferredModel, PreferredAgentID: e.PreferredAgentID,
			TokenBudgetHint: e.TokenBudgetHint, AppliedBy: e.AppliedBy, AppliedAt: e.AppliedAt,
		}
	}
	result.Frontmatter, err = pm.UpdatePlan(ctx, c.Workspace(), p.ProjectID, p.TaskID, change)
	return result, err
}

// NewTaskParams are the params of the command task:new.
type NewTaskParams struct {
	company.ProjectParams
	Spec pm.TaskSpec `json:"-"`
}

// NewTask creates a draft task and returns its id.
func (c Operations) NewTask(ctx context.Context, p NewTaskParams) (string, error) {
	return pm.NewTask(ctx, c.Workspace(), p.ProjectID, p.Spec)
}

// CreateTaskParams are the params of task.create.
type CreateTaskParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	Title      string `json:"title"`
	Body       string `json:"body,omitempty" is:"optional,empty,maxbytes=65536"`
	AssigneeID string `json:"assignee_agent_id,omitempty" is:"optional,id"`
	TeamID     string `json:"team_id,omitempty" is:"optional,id"`
	Visibility string `json:"visibility" is:"default=team,visibility"`
	company.FilesActor
}

// CreateTaskResult is the result of task.create.
type CreateTaskResult struct {
	TaskID string `json:"task_id"`
}

// CreateTask creates a draft task. Its body becomes the text below the heading of the contract.
func (c Operations) CreateTask(ctx context.Context, p CreateTaskParams) (result CreateTaskResult, err error) {
	result.TaskID, err = pm.NewTask(ctx, c.Workspace(), p.ProjectID, pm.TaskSpec{
		Title: p.Title, Visibility: p.Visibility, TeamID: p.TeamID, AssigneeID: p.AssigneeID, Contract: p.Body,
	})
	return result, err
}

// TaskParams are the params of task.get.
type TaskParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	TaskID    string `json:"task_id" is:"id"`
}

// TaskResult is the result of task.get. Body is Markdown. Runs are the ids of the runs that work
// on the task, newest first.
type TaskResult struct {
	Frontmatter doc.Task        `json:"frontmatter"`
	Body        string          `json:"body"`
	Milestones  []doc.Milestone `json:"milestones"`
	Runs        []string        `json:"runs"`
}

// taskRuns bounds how many of a task's newest runs are listed.
const taskRuns = 500

// Task returns a task with its text and its runs.
func (c Operations) Task(ctx context.Context, p TaskParams) (result TaskResult, err error) {
	task, body, err := pm.ReadTask(c.Workspace(), p.ProjectID, p.TaskID)
	if err != nil {
		return result, err
	}
	result = TaskResult{Frontmatter: task, Body: strings.TrimSpace(string(body)), Milestones: task.Milestones, Runs: []string{}}
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) error {
		list, err := m.RunList(snapshot.RunQuery{ProjectID: p.ProjectID, TaskID: p.TaskID, Most: taskRuns})
		result.Runs = result.Runs[:0]
		for i := range list.Rows {
			result.Runs = append(result.Runs, list.Rows[i].RunID)
		}
		return err
	})
	return result, err
}

// AddMilestoneParams are the params of the command task:add-milestone.
type AddMilestoneParams struct {
	company.ProjectParams
	TaskID    string        `json:"task_id" is:"id"`
	Milestone doc.Milestone `json:"-"`
}

// AddMilestone adds a milestone to a task and returns its id.
func (c Operations) AddMilestone(ctx context.Context, p AddMilestoneParams) (string, error) {
	return pm.AddMilestone(ctx, c.Workspace(), p.ProjectID, p.TaskID, p.Milestone)
}
