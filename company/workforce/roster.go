package workforce

// Lists for people: agents with their current work, teams, and projects with counts.

import (
	"context"
	"os"
	"slices"

	"ac/company"
	"ac/index"
	"ac/runs/provider"
	"ac/snapshot"
	"ac/workspace/doc"
)

// States of agents. An agent that cannot start shows the reason instead.
const (
	AgentWorking = "working"
	AgentAsks    = "asks you"
	AgentIdle    = "idle"
)

// RosterAgent is an agent in a list for people. Unknown fields are null.
type RosterAgent struct {
	AgentID  string  `json:"agent_id"`
	Name     string  `json:"name"`
	Role     string  `json:"role"`
	TeamID   *string `json:"team_id"`
	Team     *string `json:"team"`
	Provider string  `json:"provider"`
	State    string  `json:"state"`
	RunID    *string `json:"run_id"`

	Now *string `json:"-"` // what the run was asked to do
}

// RosterTeam is a team in a list for people.
type RosterTeam struct {
	TeamID  string `json:"team_id"`
	Name    string `json:"name"`
	Agents  int    `json:"agents"`
	Working int    `json:"working"`
}

// Roster is the agents and teams of a company.
type Roster struct {
	Agents []RosterAgent
	Teams  []RosterTeam
}

// Roster lists agents and teams by name, with the current work of the agents. It writes only the
// index.
func (c Operations) Roster(ctx context.Context, p company.Dir) (Roster, error) {
	r := Roster{Agents: []RosterAgent{}, Teams: []RosterTeam{}}
	agents, err := c.Workspace().Agents()
	if err != nil {
		return r, err
	}
	teams, err := c.Workspace().Teams()
	if err != nil {
		return r, err
	}
	live, err := c.RunRows(ctx, company.RunRowsParams{Dir: p, Live: true})
	if err != nil {
		return r, err
	}
	machine, err := c.Workspace().Machine()
	if err != nil {
		return r, err
	}
	for _, t := range teams {
		r.Teams = append(r.Teams, RosterTeam{TeamID: t.ID, Name: t.Name})
	}
	for _, a := range agents {
		row := RosterAgent{AgentID: a.ID, Name: a.Name, Role: a.Role, TeamID: company.OrNil(a.TeamID), Provider: a.Provider, State: AgentIdle}
		row.occupy(live.Rows)
		if why := cannotStart(machine, a.Provider); why != "" && row.State == AgentIdle {
			row.State = "cannot start: " + why
		}
		if at := slices.IndexFunc(r.Teams, func(t RosterTeam) bool { return t.TeamID == a.TeamID }); at >= 0 {
			team := &r.Teams[at]
			row.Team = &team.Name
			if team.Agents++; row.State == AgentWorking || row.State == AgentAsks {
				team.Working++
			}
		}
		r.Agents = append(r.Agents, row)
	}
	return r, nil
}

// occupy sets the state and the run of an agent. A run that asks takes precedence.
func (a *RosterAgent) occupy(live []company.RunRow) {
	for i := range live {
		run := &live[i]
		if run.AgentID != a.AgentID || a.State == AgentAsks {
			continue
		}
		switch run.State {
		case company.StateAsks:
			a.State = AgentAsks
		case company.StateRunning:
			a.State = AgentWorking
		}
		a.RunID, a.Now = &run.RunID, run.What
	}
}

// cannotStart returns why an agent of a provider cannot start on this machine, "" if no reason is
// known. It starts no program to find out.
func cannotStart(machine doc.Machine, name string) string {
	p := doc.ProviderNamed(name)
	if len(machine.AgentCommands[name]) > 0 {
		return ""
	}
	if p.AlwaysLive && p.Live == doc.LiveACP {
		return "no command (ac machine:set-agent-command)"
	}
	if p.Driver == "" && len(p.LiveArgs) == 0 {
		return "" // any command, or none
	}
	if program := provider.Binary(machine, name); !isInstalled(program) {
		return program + " is not installed"
	}
	return ""
}

// isInstalled reports whether a program is installed.
func isInstalled(program string) bool {
	_, err := provider.Find(program, os.Getenv("PATH"))
	return err == nil
}

// ProjectCounts is a project in a list for people.
type ProjectCounts struct {
	ProjectID string   `json:"project_id"`
	Name      string   `json:"name"`
	Live      int      `json:"live"`    // live runs
	Waiting   int      `json:"waiting"` // items and requests that wait for a person
	OpenTasks int      `json:"open_tasks"`
	DoneTasks int      `json:"done_tasks"`
	Repos     []string `json:"repos"`
}

// CountProjects lists the projects, newest first, with counts of their work. It writes only the
// index.
func (c Operations) CountProjects(ctx context.Context, _ company.Dir) ([]ProjectCounts, error) {
	rows := []ProjectCounts{}
	err := c.View(ctx, index.UpToDate, func(m *snapshot.View) error {
		projects, err := m.Projects()
		if err != nil {
			return err
		}
		for _, p := range projects {
			row := ProjectCounts{ProjectID: p.ProjectID, Name: p.Name, Live: p.ActiveRuns, Waiting: p.PendingReviews, Repos: []string{}}
			asked, err := m.Interactions(snapshot.InteractionQuery{ProjectID: p.ProjectID, State: snapshot.InteractionsOpen, Limit: 1})
			if err != nil {
				return err
			}
			row.Waiting += asked.Open
			for _, link := range p.RepoLinks {
				row.Repos = append(row.Repos, link.RepoID)
			}
			tasks, err := m.Tasks(p.ProjectID)
			if err != nil {
				return err
			}
			for _, t := range tasks {
				switch t.Status {
				case "done":
					row.DoneTasks++
				case "canceled":
				default:
					row.OpenTasks++
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}
