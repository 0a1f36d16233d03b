package snapshot

// Projects with their figures, and the home of a workspace.

import (
	"cmp"
	"slices"

	"ac/index"
	"ac/pm"
	"ac/workspace/doc"
)

// ProjectRow is a project in the list of projects.
type ProjectRow struct {
	ProjectID      string         `json:"project_id"`
	Name           string         `json:"name"`
	Status         string         `json:"status"`
	CreatedAt      string         `json:"created_at"`
	RepoLinks      []doc.RepoLink `json:"repo_links"`
	PendingReviews int            `json:"pending_reviews"`
	ActiveRuns     int            `json:"active_runs"`
	TaskCount      int            `json:"task_count"`
	ProgressPct    float64        `json:"progress_pct"`
	BlockedTasks   int            `json:"blocked_tasks"`
	RiskFlags      []string       `json:"risk_flags"`
}

// Projects lists the projects of a workspace, newest first.
func (m *View) Projects() ([]ProjectRow, error) {
	if m.projects != nil {
		return m.projects, nil
	}
	projects, err := m.w.Projects()
	if err != nil {
		return nil, err
	}
	tasks, err := m.view.TaskTotals()
	if err != nil {
		return nil, err
	}
	pending, err := m.view.PendingCounts()
	if err != nil {
		return nil, err
	}
	runs, err := m.activeRuns()
	if err != nil {
		return nil, err
	}
	active := map[string]int{}
	for _, r := range runs {
		active[r.ProjectID]++
	}
	rows := make([]ProjectRow, 0, len(projects))
	for _, p := range projects {
		row := ProjectRow{
			ProjectID: p.ID, Name: p.Name, Status: p.Status, CreatedAt: p.CreatedAt, RepoLinks: []doc.RepoLink{}, RiskFlags: []string{},
			PendingReviews: pending[p.ID], ActiveRuns: active[p.ID],
		}
		if links, err := m.w.RepoLinks(p.ID); err == nil && links != nil {
			row.RepoLinks = links
		}
		row.add(tasks[p.ID])
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ProjectRow) int {
		return cmp.Or(newer(a.CreatedAt, b.CreatedAt), cmp.Compare(b.ProjectID, a.ProjectID))
	})
	m.projects = rows
	return rows, nil
}

// add sets the task counts of the project, none if tasks is nil, and derives its risk flags.
func (r *ProjectRow) add(tasks *index.TaskTotals) {
	cycle := false
	if tasks != nil {
		r.TaskCount, r.BlockedTasks = tasks.Tasks, tasks.Blocked
		r.ProgressPct = pm.Percent(tasks.Progress / float64(tasks.Tasks))
		cycle = pm.Cyclic(tasks.Waits)
	}
	for _, flag := range []struct {
		name  string
		holds bool
	}{
		{"blocked_tasks", r.BlockedTasks > 0}, {"pending_reviews", r.PendingReviews > 0}, {"dependency_cycle", cycle},
	} {
		if flag.holds {
			r.RiskFlags = append(r.RiskFlags, flag.name)
		}
	}
}

// Home is the home screen of a company.
type Home struct {
	Header
	Projects []HomeRow   `json:"projects"`
	Summary  HomeSummary `json:"summary"`
	Plan     *Portfolio  `json:"pm,omitempty"`
}

// HomeRow is a project on the home screen.
type HomeRow struct {
	ProjectID      string   `json:"project_id"`
	Name           string   `json:"name"`
	Status         string   `json:"status"`
	CreatedAt      string   `json:"created_at"`
	RepoIDs        []string `json:"repo_ids"`
	PendingReviews int      `json:"pending_reviews"`
	ActiveRuns     int      `json:"active_runs"`
	TaskCount      int      `json:"task_count"`
	ProgressPct    float64  `json:"progress_pct"`
	BlockedTasks   int      `json:"blocked_tasks"`
	RiskFlags      []string `json:"risk_flags"`
}

// HomeSummary sums up the projects.
type HomeSummary struct {
	ProjectCount    int     `json:"project_count"`
	PendingReviews  int     `json:"pending_reviews"`
	ActiveRuns      int     `json:"active_runs"`
	TaskCount       int     `json:"task_count"`
	ProgressPct     float64 `json:"progress_pct"`
	BlockedProjects int     `json:"blocked_projects"`
}

// Home returns the home screen of a company, optionally with its portfolio.
func (m *View) Home(withPlan bool) (Home, error) {
	result := Home{Header: m.taken, Projects: []HomeRow{}}
	rows, err := m.Projects()
	if err != nil {
		return result, err
	}
	portfolio, err := m.Portfolio()
	if err != nil {
		return result, err
	}
	if withPlan {
		result.Plan = &portfolio
	}
	s := portfolio.Summary
	result.Summary = HomeSummary{
		ProjectCount: s.ProjectCount, PendingReviews: s.PendingReviews, ActiveRuns: s.ActiveRuns,
		ProgressPct: s.ProgressPct, BlockedProjects: s.BlockedProjects,
	}
	for _, r := range rows {
		row := HomeRow{
			ProjectID: r.ProjectID, Name: r.Name, Status: r.Status, CreatedAt: r.CreatedAt, RepoIDs: []string{}, RiskFlags: []string{},
			PendingReviews: r.PendingReviews, ActiveRuns: r.ActiveRuns, TaskCount: r.TaskCount, ProgressPct: r.ProgressPct, BlockedTasks: r.BlockedTasks,
		}
		for _, link := range r.RepoLinks {
			row.RepoIDs = append(row.RepoIDs, link.RepoID)
		}
		for _, flag := range []string{"pending_reviews", "blocked_tasks"} { // the order on the home screen
			if slices.Contains(r.RiskFlags, flag) {
				row.RiskFlags = append(row.RiskFlags, flag)
			}
		}
		result.Summary.TaskCount += r.TaskCount
		result.Projects = append(result.Projects, row)
	}
	return result, nil
}
