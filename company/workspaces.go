package company

// workspace.*.list and run.list: the contents of a folder. A folder that is not a workspace has
// none.

import (
	"context"

	"ac/index"
	"ac/internal/inflight"
	"ac/runs"
	"ac/snapshot"
	"ac/workspace/doc"
)

// ProjectsResult is the result of workspace.projects.list.
type ProjectsResult struct {
	WorkspaceDir string                `json:"workspace_dir"`
	Projects     []snapshot.ProjectRow `json:"projects"`
}

// Projects lists the projects, after creating missing workspace defaults.
func (c *Folder) Projects(ctx context.Context, _ Dir) (ProjectsResult, error) {
	result := ProjectsResult{WorkspaceDir: c.given, Projects: []snapshot.ProjectRow{}}
	in, err := c.Enter(ctx)
	if isNotAWorkspace(err) {
		return result, nil
	}
	if err != nil {
		return result, err
	}
	if err := in.w.EnsureDefaults(ctx); err != nil {
		return result, err
	}
	inflight.Leave(ctx) // the rest only reads
	err = in.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result.Projects, err = m.Projects()
		return err
	})
	return result, err
}

// AgentsParams are the params of workspace.agents.list.
type AgentsParams struct {
	Dir
	Role   string `json:"role" is:"optional,enum=ceo|director|manager|worker"`
	TeamID string `json:"team_id" is:"optional"`
}

// AgentRow is an agent in a list.
type AgentRow struct {
	AgentID      string `json:"agent_id"`
	Name         string `json:"name"`
	DisplayTitle string `json:"display_title,omitempty"`
	Avatar       string `json:"avatar,omitempty"`
	Role         string `json:"role"`
	Provider     string `json:"provider"`
	ModelHint    string `json:"model_hint,omitempty"`
	TeamID       string `json:"team_id,omitempty"`
	CreatedAt    string `json:"created_at"`
}

// Agents lists agents by name.
func (c *Folder) Agents(ctx context.Context, p AgentsParams) ([]AgentRow, error) {
	rows := []AgentRow{}
	w, err := c.workspace(ctx)
	if isNotAWorkspace(err) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	agents, err := w.Agents()
	for _, a := range agents {
		if (p.Role == "" || p.Role == a.Role) && (p.TeamID == "" || p.TeamID == a.TeamID) {
			rows = append(rows, AgentRowOf(a))
		}
	}
	return rows, err
}

// AgentRowOf returns an agent as a row of a list.
func AgentRowOf(a doc.Agent) AgentRow {
	return AgentRow{a.ID, a.Name, a.DisplayTitle, a.Avatar, a.Role, a.Provider, a.ModelHint, a.TeamID, a.CreatedAt}
}

// TeamRow is a team in a list.
type TeamRow struct {
	TeamID string `json:"team_id"`
	Name   string `json:"name"`
	doc.Department
	CreatedAt string `json:"created_at"`
}

// Teams lists teams by name.
func (c *Folder) Teams(ctx context.Context, _ Dir) ([]TeamRow, error) {
	rows := []TeamRow{}
	w, err := c.workspace(ctx)
	if isNotAWorkspace(err) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	teams, err := w.Teams()
	for _, t := range teams {
		rows = append(rows, TeamRow{t.ID, t.Name, t.Department, t.CreatedAt})
	}
	return rows, err
}

// ListRunsParams are the params of run.list.
type ListRunsParams struct {
	Dir
	ProjectID string `json:"project_id" is:"optional,id"`
}

// ListRuns lists runs, newest first.
func (c *Folder) ListRuns(ctx context.Context, p ListRunsParams) ([]runs.ListRow, error) {
	w, err := c.workspace(ctx)
	if isNotAWorkspace(err) {
		return []runs.ListRow{}, nil
	}
	if err != nil {
		return nil, err
	}
	return runs.List(w, p.ProjectID)
}
