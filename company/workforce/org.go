package workforce

// Creating teams, agents and projects. Only commands do this.

import (
	"context"
	"strings"

	"ac/company"
	"ac/workspace"
	"ac/workspace/doc"
)

// NameParams are the name of a new object.
type NameParams struct {
	company.Dir
	Name string `json:"name"`
}

// NewTeamParams are the params of the command team:new.
type NewTeamParams struct {
	NameParams
	doc.Department
}

// NewTeam creates a team and returns its id.
func (c Operations) NewTeam(ctx context.Context, p NewTeamParams) (string, error) {
	return c.Workspace().NewDepartment(ctx, p.Name, p.Department)
}

// NewAgentParams are the params of the command agent:new.
type NewAgentParams struct {
	company.Dir
	Name     string `json:"name"`
	Role     string `json:"role" is:"enum=ceo|director|manager|worker"`
	Provider string `json:"provider"`
	TeamID   string `json:"team_id" is:"optional,id"`
}

// NewAgent creates an agent and returns its id.
func (c Operations) NewAgent(ctx context.Context, p NewAgentParams) (string, error) {
	return c.Workspace().NewAgent(ctx, workspace.AgentSpec{Name: p.Name, Role: p.Role, Provider: p.Provider, TeamID: p.TeamID})
}

// NewProject creates a project without defaults and returns its id.
func (c Operations) NewProject(ctx context.Context, p NameParams) (string, error) {
	return c.Workspace().NewProject(ctx, p.Name)
}

// TaskNames lists the tasks of a project.
func (c Operations) TaskNames(_ context.Context, p company.ProjectParams) ([]doc.Task, error) {
	return c.Workspace().Tasks(p.ProjectID)
}

// AgentToRun is an agent that can receive a run. If Command is set, the agent runs commands that
// people enter. Otherwise people talk with it.
type AgentToRun struct {
	AgentID string
	Name    string
	Command bool
}

// AgentsToRun lists the workers that can receive a run on this machine.
func (c Operations) AgentsToRun(_ context.Context, _ company.Dir) (list []AgentToRun, err error) {
	agents, err := c.Workspace().Agents()
	if err != nil {
		return nil, err
	}
	machine, err := c.Workspace().Machine()
	for _, a := range agents {
		if a.Role != "worker" || strings.HasPrefix(a.ID, workspace.SecretaryPrefix) {
			continue
		}
		command := doc.AnyWorkerKindOf(a.Provider) == doc.WorkerCmd && len(machine.AgentCommands[a.Provider]) == 0
		if command && a.Provider != "cmd" || !command && doc.ProviderNamed(a.Provider).Live == "" && len(machine.AgentCommands[a.Provider]) == 0 {
			continue
		}
		list = append(list, AgentToRun{a.ID, a.Name, command})
	}
	return list, err
}

// ProjectNames lists the projects by id. It writes nothing.
func (c Operations) ProjectNames(_ context.Context, _ company.Dir) ([]doc.Project, error) {
	return c.Workspace().Projects()
}
