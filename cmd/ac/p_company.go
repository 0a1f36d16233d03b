package main

// ac agents, ac teams, ac projects: who there is and what they do.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/provisioning"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func agentsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "List agents: who they are and what they do now", Args: args(),
		Long: `List the agents of the company with what they do now. A state is working, asks you,
idle, or cannot start with the reason.

In a pipe a row has the id, the name, the role, the team, the provider and the state.`,
		Example: "  ac agents\n  ac agents add Ben --provider codex --team Payments",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		roster, err := company.Do(c.ctx, c.all, workforce.Operations.Roster, c.dirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(roster.Agents))
		for i, r := range roster.Agents {
			lines[i] = []string{r.AgentID, r.Name, r.Role, orEmpty(r.Team), r.Provider, r.State}
		}
		return c.printListing(listing{roster.Agents, agentTable(roster.Agents), lines, "No agents yet: ac agents add NAME --provider PROVIDER"})
	})
	cmd.AddCommand(agentsAddCommand(a))
	return cmd
}

// agentTable is a list of agents for a terminal.
func agentTable(rows []workforce.RosterAgent) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "AGENT", Most: 14}, {Title: "ROLE", Drop: 3}, {Title: "TEAM", Most: 14, Drop: 2}, {Title: "PROVIDER", Most: 18, Drop: 1}, {Title: "STATE"}, {Title: "NOW", Text: true},
	}}
	for _, r := range rows {
		word, why, _ := strings.Cut(r.State, ": ") // cannot start: why
		state, now := sign(word, "✗", "x", terminal.Red), orUnknown(r.Now, why)
		switch r.State {
		case workforce.AgentWorking:
			state = sign(r.State, "●", "*", terminal.Cyan)
		case workforce.AgentAsks:
			state = sign(r.State, "▲", "!", terminal.BoldYellow)
		case workforce.AgentIdle:
			state = sign(r.State, "◦", "-", terminal.None)
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: r.Name}, {Text: r.Role}, {Text: orUnknown(r.Team, "")}, {Text: r.Provider}, state, {Text: now}})
	}
	return t
}

func agentsAddCommand(a *app) *cobra.Command {
	var p workforce.NewAgentParams
	team := ""
	cmd := &cobra.Command{
		Use: "add <name>", Short: "Add an agent", Args: args("name"),
		Example: "  ac agents add Ben --provider codex\n  ac agents add Mia --provider claude --role manager --team Payments",
	}
	a.short(cmd, func(c *call, given []string) error {
		p.Dir, p.Name = c.dirParam(), given[0]
		if err := require(cmd, "provider"); err != nil {
			return err
		}
		if err := cmp.Or(oneOf("role", p.Role, agentRoles()), c.refuseTaken(kindAgent, p.Name)); err != nil {
			return err
		}
		if team != "" {
			found, err := c.find(kindTeam, team)
			if err != nil {
				return err
			}
			p.TeamID = found.id
		}
		id, err := company.Do(c.ctx, c.all, workforce.Operations.NewAgent, p)
		if err != nil {
			return err
		}
		if note := oddProvider(p.Provider); note != "" {
			c.note("note: %s", note)
		}
		return c.added(kindAgent, id, p.Name)
	})
	flags := cmd.Flags()
	flags.StringVar(&p.Provider, "provider", "", strings.Join(doc.WorkerKinds(), ", ")+", cmd, ... (required)")
	flags.StringVar(&p.Role, "role", "worker", strings.Join(agentRoles(), ", "))
	flags.StringVar(&team, "team", "", "its team: a name, an id, or the end of an id")
	return cmd
}

// agentRoles are the roles of agents.
func agentRoles() []string { return []string{"ceo", "director", "manager", "worker"} }

// oddProvider is what to note of a provider that no driver knows, "" for none.
func oddProvider(name string) string {
	p := doc.ProviderNamed(name)
	for _, known := range doc.Providers() {
		if known.Name == name {
			return ""
		}
	}
	if p.Live != "" {
		return ""
	}
	return fmt.Sprintf("no driver knows the provider %s; its runs need a command", name)
}

func teamsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "teams", Short: "List teams: how many agents they have, and how many work", Args: args(),
		Example: "  ac teams\n  ac teams add Growth",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		roster, err := company.Do(c.ctx, c.all, workforce.Operations.Roster, c.dirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(roster.Teams))
		for i, r := range roster.Teams {
			lines[i] = []string{r.TeamID, r.Name, strconv.Itoa(r.Agents), strconv.Itoa(r.Working)}
		}
		return c.printListing(listing{roster.Teams, teamTable(roster.Teams), lines, "No teams yet: ac teams add NAME"})
	})
	add := &cobra.Command{Use: "add <name>", Short: "Add a team", Args: args("name"), Example: "  ac teams add Growth"}
	a.short(add, func(c *call, given []string) error {
		if err := c.refuseTaken(kindTeam, given[0]); err != nil {
			return err
		}
		id, err := company.Do(c.ctx, c.all, workforce.Operations.NewTeam, workforce.NewTeamParams{NameParams: workforce.NameParams{Dir: c.dirParam(), Name: given[0]}})
		if err != nil {
			return err
		}
		return c.added(kindTeam, id, given[0])
	})
	cmd.AddCommand(add)
	return cmd
}

// teamTable is a list of teams for a terminal.
func teamTable(rows []workforce.RosterTeam) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "TEAM", Text: true}, {Title: "AGENTS", Right: true}, {Title: "WORKING", Right: true}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []terminal.Cell{{Text: r.Name}, count(r.Agents), count(r.Working)})
	}
	return t
}

func projectsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "projects", Short: "List projects: their runs, tasks, and what waits for you", Args: args(),
		Long: `List the projects, newest first: how many of their runs live, how many things wait for
somebody's word, how many tasks are open, and their repositories.`,
		Example: "  ac projects\n  ac projects add Growth",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		rows, err := company.Do(c.ctx, c.all, workforce.Operations.CountProjects, c.dirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.ProjectID, r.Name, strconv.Itoa(r.Live), strconv.Itoa(r.Waiting), strconv.Itoa(r.OpenTasks), strings.Join(r.Repos, ",")}
		}
		return c.printListing(listing{rows, projectTable(rows), lines, "No projects yet: ac projects add NAME"})
	})
	cmd.AddCommand(projectsAddCommand(a))
	return cmd
}

// projectTable is a list of projects for a terminal.
func projectTable(rows []workforce.ProjectCounts) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "PROJECT", Most: 30}, {Title: "RUNS", Right: true}, {Title: "WAITING", Right: true, Drop: 2}, {Title: "TASKS", Right: true, Drop: 1}, {Title: "REPOSITORY", Text: true},
	}}
	for _, r := range rows {
		waiting := count(r.Waiting)
		if r.Waiting > 0 {
			waiting.Colour = terminal.BoldYellow
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: r.Name}, count(r.Live), waiting, count(r.OpenTasks), {Text: cmp.Or(strings.Join(r.Repos, ", "), terminal.Unknown)}})
	}
	return t
}

func projectsAddCommand(a *app) *cobra.Command {
	repo := ""
	cmd := &cobra.Command{
		Use: "add <name>", Short: "Add a project with its conversations", Args: args("name"),
		Example: "  ac projects add Growth\n  ac projects add Growth --repo ~/src/growth",
	}
	a.short(cmd, func(c *call, given []string) error {
		if err := c.refuseTaken(kindProject, given[0]); err != nil {
			return err
		}
		made, err := company.Do(c.ctx, c.all, workforce.Operations.CreateProject, workforce.CreateProjectParams{Dir: c.dirParam(), Name: given[0]})
		if err != nil {
			return err
		}
		if repo != "" {
			if err := c.linkRepo(made.ProjectID, repo); err != nil {
				return fmt.Errorf("the project %s was made, its repository not linked: %w", given[0], err)
			}
		}
		return c.added(kindProject, made.ProjectID, given[0])
	})
	cmd.Flags().StringVar(&repo, "repo", "", "folder of its git repository")
	return cmd
}

// linkRepo links the repository in a folder to a project. Its id is the name of the folder.
func (c *call) linkRepo(project, folder string) error {
	at, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	id := provisioning.RepoIDOf(filepath.Base(at))
	if _, err := company.Do(c.ctx, c.all, workforce.Operations.SetRepoRoot, workforce.RepoRootParams{Dir: c.dirParam(), RepoID: id, RepoPath: at, RequireGit: true}); err != nil {
		return err
	}
	_, err = company.Do(c.ctx, c.all, workforce.Operations.LinkRepo, workforce.LinkRepoParams{Dir: c.dirParam(), ProjectID: project, RepoID: id})
	return err
}
