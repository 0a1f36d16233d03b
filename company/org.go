package company

// Creating teams, agents and projects, for commands only.

import (
	"context"

	"ac/workspace"
	"ac/workspace/doc"
)

// NameParams name what is created.
type NameParams struct {
	Dir
	Name string `json:"name"`
}

// NewTeamParams are the params of the command team:new.
type NewTeamParams struct {
	NameParams
	doc.Department
}

// NewTeam makes a team and returns its id.
func (c *Company) NewTeam(ctx context.Context, p NewTeamParams) (string, error) {
	return c.w.NewDepartment(ctx, p.Name, p.Department)
}

// NewAgentParams are the params of the command agent:new.
type NewAgentParams struct {
	Dir
	Name     string `json:"name"`
	Role     string `json:"role" is:"enum=ceo|director|manager|worker"`
	Provider string `json:"provider"`
	TeamID   string `json:"team_id" is:"optional,id"`
}

// NewAgent makes an agent and returns its id.
func (c *Company) NewAgent(ctx context.Context, p NewAgentParams) (string, error) {
	return c.w.NewAgent(ctx, workspace.AgentSpec{Name: p.Name, Role: p.Role, Provider: p.Provider, TeamID: p.TeamID})
}

// NewProject makes a project without defaults and returns its id.
func (c *Company) NewProject(ctx context.Context, p NameParams) (string, error) {
	return c.w.NewProject(ctx, p.Name)
}

// ProjectNames lists the projects by id. It does not write.
func (c *Company) ProjectNames(_ context.Context, _ Dir) ([]doc.Project, error) {
	return c.w.Projects()
}
