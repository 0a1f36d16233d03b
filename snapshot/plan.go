package snapshot

// Plans: the portfolio of a company, and the schedule of a project.

import (
	"cmp"
	"slices"

	"ac/index"
	"ac/internal/clock"
	"ac/pm"
	"ac/runs/session"
	"ac/workspace/doc"
)

// Portfolio holds all projects of a company.
type Portfolio struct {
	Summary  PortfolioSummary `json:"summary"`
	Projects []PortfolioRow   `json:"projects"`
}

// PortfolioSummary sums up the projects. ProgressPct is their unweighted mean.
type PortfolioSummary struct {
	ProjectCount    int     `json:"project_count"`
	ActiveRuns      int     `json:"active_runs"`
	PendingReviews  int     `json:"pending_reviews"`
	TotalTokens     int64   `json:"total_tokens"`
	ProgressPct     float64 `json:"progress_pct"`
	BlockedProjects int     `json:"blocked_projects"`
}

// PortfolioRow is a project of the portfolio.
type PortfolioRow struct {
	ProjectID      string   `json:"project_id"`
	Name           string   `json:"name"`
	TaskCount      int      `json:"task_count"`
	ProgressPct    float64  `json:"progress_pct"`
	BlockedTasks   int      `json:"blocked_tasks"`
	ActiveRuns     int      `json:"active_runs"`
	PendingReviews int      `json:"pending_reviews"`
	RiskFlags      []string `json:"risk_flags"`
}

// Portfolio returns all projects with the sums over their tasks and runs.
func (m *View) Portfolio() (Portfolio, error) {
	result := Portfolio{Projects: []PortfolioRow{}}
	rows, err := m.Projects()
	if err != nil {
		return result, err
	}
	progress := 0.0
	for _, r := range rows {
		result.Projects = append(result.Projects, PortfolioRow{
			ProjectID: r.ProjectID, Name: r.Name, TaskCount: r.TaskCount, ProgressPct: r.ProgressPct, BlockedTasks: r.BlockedTasks,
			ActiveRuns: r.ActiveRuns, PendingReviews: r.PendingReviews, RiskFlags: r.RiskFlags,
		})
		result.Summary.ActiveRuns += r.ActiveRuns
		result.Summary.PendingReviews += r.PendingReviews
		if r.BlockedTasks > 0 {
			result.Summary.BlockedProjects++
		}
		progress += r.ProgressPct
	}
	if result.Summary.ProjectCount = len(rows); len(rows) > 0 {
		result.Summary.ProgressPct = pm.Round1(progress / float64(len(rows)))
	}
	totals, err := m.view.Totals(index.RunFilter{})
	result.Summary.TotalTokens = totals.TotalTokens
	return result, err
}

// Plan is the portfolio, with the schedule of a project if one is given.
type Plan struct {
	Header
	Scope     string       `json:"scope"`
	Workspace Portfolio    `json:"workspace"`
	Project   *ProjectPlan `json:"project,omitempty"`
}

// ProjectPlan is the schedule of a project with its counts.
type ProjectPlan struct {
	ProjectID string     `json:"project_id"`
	Summary   pm.Summary `json:"summary"`
	Gantt     Gantt      `json:"gantt"`
}

// Gantt is the schedule of a project.
type Gantt struct {
	Status   string      `json:"cpm_status"`
	SpanDays float64     `json:"project_span_days"`
	CycleIDs []string    `json:"cycle_task_ids,omitempty"`
	Tasks    []GanttTask `json:"tasks"`
}

// GanttTask is a scheduled task.
type GanttTask struct {
	TaskID           string   `json:"task_id"`
	Title            string   `json:"title"`
	Status           string   `json:"status"`
	TeamID           string   `json:"team_id,omitempty"`
	AssigneeAgentID  string   `json:"assignee_agent_id,omitempty"`
	ProgressPct      float64  `json:"progress_pct"`
	StartAt          string   `json:"start_at"`
	EndAt            string   `json:"end_at"`
	DurationDays     int      `json:"duration_days"`
	SlackDays        float64  `json:"slack_days"`
	Critical         bool     `json:"critical"`
	DependsOnTaskIDs []string `json:"depends_on_task_ids"`
}

// Plan returns the portfolio, and the schedule of a project unless it is "". An unknown project has
// no tasks.
func (m *View) Plan(scope, project string) (Plan, error) {
	result := Plan{Header: m.taken, Scope: scope}
	var err error
	if result.Workspace, err = m.Portfolio(); err != nil || project == "" {
		return result, err
	}
	tasks, err := m.Tasks(project)
	if err != nil {
		return result, err
	}
	laid := m.planTasks(tasks)
	result.Project = &ProjectPlan{ProjectID: project, Summary: pm.Summarize(tasks), Gantt: ganttOf(laid)}
	return result, nil
}

func (m *View) planTasks(tasks []doc.Task) pm.Plan { return pm.Schedule(tasks, m.w.Env.Clock.Now()) }

// Schedule computes the schedule of a project.
func (m *View) Schedule(project string) (pm.Plan, error) {
	tasks, err := m.Tasks(project)
	return m.planTasks(tasks), err
}

func ganttOf(p pm.Plan) Gantt {
	g := Gantt{Status: p.Status, SpanDays: p.SpanDays, CycleIDs: p.CycleIDs, Tasks: make([]GanttTask, len(p.Bars))}
	for i := range p.Bars {
		b := &p.Bars[i]
		g.Tasks[i] = GanttTask{
			TaskID: b.Task.ID, Title: b.Task.Title, Status: b.Task.Status, TeamID: b.Task.TeamID, AssigneeAgentID: b.Task.AssigneeAgentID,
			ProgressPct: pm.Percent(b.Task.Progress()), StartAt: clock.Stamp(b.Start), EndAt: clock.Stamp(b.End),
			DurationDays: b.DurationDays, SlackDays: b.SlackDays, Critical: b.Critical, DependsOnTaskIDs: []string{},
		}
		if b.Task.Schedule != nil && b.Task.Schedule.DependsOnTaskIDs != nil {
			g.Tasks[i].DependsOnTaskIDs = b.Task.Schedule.DependsOnTaskIDs
		}
	}
	return g
}

// Tasks lists the tasks of a project, newest first. An unknown project has
// none.
func (m *View) Tasks(project string) ([]doc.Task, error) {
	if known, err := m.w.HasProject(project); !known {
		return nil, err
	}
	rows, err := m.view.Tasks(project)
	if err != nil {
		return nil, err
	}
	tasks := make([]doc.Task, len(rows))
	for i := range rows {
		tasks[i] = taskOf(&rows[i])
	}
	slices.SortFunc(tasks, func(a, b doc.Task) int { return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return tasks, nil
}

// taskOf converts a row of the index to a task.
func taskOf(r *index.Task) doc.Task {
	t := doc.Task{
		ID: r.TaskID, ProjectID: r.ProjectID, Title: r.Title, Status: r.Status, Visibility: r.Visibility, CreatedAt: r.CreatedAt,
		TeamID: text(r.TeamID), AssigneeAgentID: text(r.AssigneeAgentID), Milestones: make([]doc.Milestone, len(r.Milestones)),
	}
	for i, m := range r.Milestones {
		t.Milestones[i] = doc.Milestone{ID: m.MilestoneID, Title: m.Title, Kind: m.Kind, Status: m.Status}
	}
	if r.HasSchedule {
		t.Schedule = &doc.Schedule{
			PlannedStart: text(r.PlannedStart), PlannedEnd: text(r.PlannedEnd), DurationDays: r.DurationDays, DependsOnTaskIDs: r.DependsOnTaskIDs,
		}
	}
	return t
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// activeRuns returns the runs that are running according to their record or to a live session.
func (m *View) activeRuns() ([]index.RunningRun, error) {
	active, err := m.view.RunningRuns()
	if err != nil {
		return nil, err
	}
	known := map[index.RunKey]bool{}
	for _, r := range active {
		known[r.RunKey] = true
	}
	sessions, err := m.observed()
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		key := index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}
		if s.Status != doc.StatusRunning || known[key] || !session.Live(m.w, s) {
			continue
		}
		known[key] = true
		agent, err := m.view.AgentOf(key)
		if err != nil {
			return nil, err
		}
		active = append(active, index.RunningRun{RunKey: key, AgentID: agent})
	}
	return active, nil
}
