package oversight

// ac agents, ac teams, ac projects: a company's members and projects, and their current work.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/company"
	"ac/company/provisioning"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func agentsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "List agents: who they are and what they do now", Args: cli.Args(),
		Long: `List the agents of the company with what they do now. A state is working, asks you,
idle, or cannot start with the reason.

In a pipe a row has the id, the name, the role, the team, the provider and the state.`,
		Example: "  ac agents\n  ac agents add Ben --provider codex --team Payments",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		roster, err := company.Do(c.Ctx, c.All, workforce.Operations.Roster, c.DirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(roster.Agents))
		for i, r := range roster.Agents {
			lines[i] = []string{r.AgentID, r.Name, r.Role, cli.OrEmpty(r.Team), r.Provider, r.State}
		}
		return printListing(c, listing{roster.Agents, agentTable(roster.Agents), lines, "No agents yet: ac agents add NAME --provider PROVIDER"})
	})
	cmd.AddCommand(agentsAddCommand(a))
	return cmd
}

// agentTable returns the table of agents for a terminal.
func agentTable(rows []workforce.RosterAgent) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "AGENT", MaxWidth: 14}, {Title: "ROLE", Drop: 3}, {Title: "TEAM", MaxWidth: 14, Drop: 2}, {Title: "PROVIDER", MaxWidth: 18, Drop: 1}, {Title: "STATE"}, {Title: "NOW", Text: true},
	}}
	for _, r := range rows {
		word, why, _ := strings.Cut(r.State, ": ") // "cannot start: REASON"
		state, now := sign(word, "✗", "x", terminal.Red), cli.OrUnknown(r.Now, why)
		switch r.State {
		case workforce.AgentWorking:
			state = sign(r.State, "●", "*", terminal.Cyan)
		case workforce.AgentAsks:
			state = sign(r.State, "▲", "!", terminal.BoldYellow)
		case workforce.AgentIdle:
			state = sign(r.State, "◦", "-", terminal.None)
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: r.Name}, {Text: r.Role}, {Text: cli.OrUnknown(r.Team, "")}, {Text: r.Provider}, state, {Text: now}})
	}
	return t
}

func agentsAddCommand(a *cli.App) *cobra.Command {
	var p workforce.NewAgentParams
	team := ""
	cmd := &cobra.Command{
		Use: "add <name>", Short: "Add an agent", Args: cli.Args("name"),
		Example: "  ac agents add Ben --provider codex\n  ac agents add Mia --provider claude --role manager --team Payments",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		p.Dir, p.Name = c.DirParam(), given[0]
		if err := cli.Require(cmd, "provider"); err != nil {
			return err
		}
		if err := cmp.Or(cli.OneOf("role", p.Role, workspaces.AgentRoles()), refuseTaken(c, cli.KindAgent, p.Name)); err != nil {
			return err
		}
		if team != "" {
			found, err := c.Find(cli.KindTeam, team)
			if err != nil {
				return err
			}
			p.TeamID = found.ID
		}
		id, err := company.Do(c.Ctx, c.All, workforce.Operations.NewAgent, p)
		if err != nil {
			return err
		}
		if note := workspaces.OddProvider(p.Provider); note != "" {
			c.Note("note: %s", note)
		}
		return added(c, cli.KindAgent, id, p.Name)
	})
	flags := cmd.Flags()
	flags.StringVar(&p.Provider, "provider", "", strings.Join(doc.WorkerKinds(), ", ")+", cmd, ... (required)")
	flags.StringVar(&p.Role, "role", "worker", strings.Join(workspaces.AgentRoles(), ", "))
	flags.StringVar(&team, "team", "", "its team: a name, an id, or the end of an id")
	return cmd
}

func teamsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "teams", Short: "List teams: how many agents they have, and how many work", Args: cli.Args(),
		Example: "  ac teams\n  ac teams add Growth",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		roster, err := company.Do(c.Ctx, c.All, workforce.Operations.Roster, c.DirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(roster.Teams))
		for i, r := range roster.Teams {
			lines[i] = []string{r.TeamID, r.Name, strconv.Itoa(r.Agents), strconv.Itoa(r.Working)}
		}
		return printListing(c, listing{roster.Teams, teamTable(roster.Teams), lines, "No teams yet: ac teams add NAME"})
	})
	add := &cobra.Command{Use: "add <name>", Short: "Add a team", Args: cli.Args("name"), Example: "  ac teams add Growth"}
	a.Short(add, func(c *cli.Call, given []string) error {
		if err := refuseTaken(c, cli.KindTeam, given[0]); err != nil {
			return err
		}
		id, err := company.Do(c.Ctx, c.All, workforce.Operations.NewTeam, workforce.NewTeamParams{NameParams: workforce.NameParams{Dir: c.DirParam(), Name: given[0]}})
		if err != nil {
			return err
		}
		return added(c, cli.KindTeam, id, given[0])
	})
	cmd.AddCommand(add)
	return cmd
}

// teamTable returns the table of teams for a terminal.
func teamTable(rows []workforce.RosterTeam) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Title: "TEAM", Text: true}, {Title: "AGENTS", Right: true}, {Title: "WORKING", Right: true}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []terminal.Cell{{Text: r.Name}, count(r.Agents), count(r.Working)})
	}
	return t
}

func projectsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "projects", Short: "List projects: their runs, tasks, and what waits for you", Args: cli.Args(),
		Long: `List the projects, newest first: how many of their runs live, how many things wait for
somebody's word, how many tasks are open, and their repositories.`,
		Example: "  ac projects\n  ac projects add Growth",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		rows, err := company.Do(c.Ctx, c.All, workforce.Operations.CountProjects, c.DirParam())
		if err != nil {
			return err
		}
		lines := make([][]string, len(rows))
		for i, r := range rows {
			lines[i] = []string{r.ProjectID, r.Name, strconv.Itoa(r.Live), strconv.Itoa(r.Waiting), strconv.Itoa(r.OpenTasks), strings.Join(r.Repos, ",")}
		}
		return printListing(c, listing{rows, projectTable(rows), lines, "No projects yet: ac projects add NAME"})
	})
	cmd.AddCommand(projectsAddCommand(a))
	return cmd
}

// projectTable returns the table of projects for a terminal.
func projectTable(rows []workforce.ProjectCounts) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "PROJECT", MaxWidth: 30}, {Title: "RUNS", Right: true}, {Title: "WAITING", Right: true, Drop: 2}, {Title: "TASKS", Right: true, Drop: 1}, {Title: "REPOSITORY", Text: true},
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

func projectsAddCommand(a *cli.App) *cobra.Command {
	repo := ""
	cmd := &cobra.Command{
		Use: "add <name>", Short: "Add a project with its conversations", Args: cli.Args("name"),
		Example: "  ac projects add Growth\n  ac projects add Growth --repo ~/src/growth",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		if err := refuseTaken(c, cli.KindProject, given[0]); err != nil {
			return err
		}
		made, err := company.Do(c.Ctx, c.All, workforce.Operations.CreateProject, workforce.CreateProjectParams{Dir: c.DirParam(), Name: given[0]})
		if err != nil {
			return err
		}
		if repo != "" {
			if err := linkRepo(c, made.ProjectID, repo); err != nil {
				return fmt.Errorf("the project %s was made, its repository not linked: %w", given[0], err)
			}
		}
		return added(c, cli.KindProject, made.ProjectID, given[0])
	})
	cmd.Flags().StringVar(&repo, "repo", "", "folder of its git repository")
	return cmd
}

// linkRepo links the repository in a folder to a project. Its id is derived from the name of the
// folder.
func linkRepo(c *cli.Call, project, folder string) error {
	at, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	id := provisioning.RepoIDOf(filepath.Base(at))
	if _, err := company.Do(c.Ctx, c.All, workforce.Operations.SetRepoRoot, workforce.RepoRootParams{Dir: c.DirParam(), RepoID: id, RepoPath: at, RequireGit: true}); err != nil {
		return err
	}
	_, err = company.Do(c.Ctx, c.All, workforce.Operations.LinkRepo, workforce.LinkRepoParams{Dir: c.DirParam(), ProjectID: project, RepoID: id})
	return err
}
