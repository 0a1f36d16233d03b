package company

// Creating teams, agents and projects, for commands only.

import (
	"context"
	"strings"

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

// TaskNames lists the tasks of a project.
func (c *Company) TaskNames(_ context.Context, p ProjectParams) ([]doc.Task, error) {
	return c.w.Tasks(p.ProjectID)
}

// AgentToRun is an agent that a run can be of: Command, of commands that people name; else
// it can be spoken with.
type AgentToRun struct {
	AgentID string
	Name    string
	Command bool
}

// AgentsToRun lists the workers that can be given something to do here.
func (c *Company) AgentsToRun(_ context.Context, _ Dir) (list []AgentToRun, err error) {
	agents, err := c.w.Agents()
	if err != nil {
		return nil, err
	}
	machine, err := c.w.Machine()
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

// ProjectNames lists the projects by id. It does not write.
func (c *Company) ProjectNames(_ context.Context, _ Dir) ([]doc.Project, error) {
	return c.w.Projects()
}
