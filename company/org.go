package company

// Making teams, agents and projects, which only commands do.

import (
	"context"

	"ac/workspace"
	"ac/workspace/doc"
)

// NewTeam makes a team and returns its id.
func (c *Company) NewTeam(ctx context.Context, name string) (string, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return "", err
	}
	return w.NewTeam(ctx, name)
}

// NewAgent makes an agent and returns its id.
func (c *Company) NewAgent(ctx context.Context, name, role, provider, team string) (string, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return "", err
	}
	return w.NewAgent(ctx, agentSpec(name, role, provider, team))
}

// NewProject makes a project without defaults and returns its id.
func (c *Company) NewProject(ctx context.Context, name string) (string, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return "", err
	}
	return w.NewProject(ctx, name)
}

func agentSpec(name, role, provider, team string) workspace.AgentSpec {
	return workspace.AgentSpec{Name: name, Role: role, Provider: provider, TeamID: team}
}

// ProjectNames lists the projects by id and writes nothing.
func (c *Company) ProjectNames(ctx context.Context) ([]doc.Project, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return nil, err
	}
	return w.Projects()
}
