package workspaces

// workspace:*, team:new, agent:new and project:new.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/maintenance"
	"ac/company/provisioning"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// AgentRoles returns the roles of agents.
func AgentRoles() []string { return []string{"ceo", "director", "manager", "worker"} }

// OddProvider returns a note about a provider that no driver knows, "" for a known one.
func OddProvider(name string) string {
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

func initCommand(a *cli.App) *cobra.Command {
	var p provisioning.InitParams
	cmd := &cobra.Command{
		Use:   "workspace:init <dir>",
		Short: "Make a folder a workspace",
		Long: `Make a folder a workspace. It must be empty or missing, unless --force is given: then
valid documents stay, and invalid ones are kept under another name.`,
		Example: "  ac workspace:init ./acme --name 'Acme'",
		Args:    cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if _, err := cli.Ask(cmd.Context(), a, provisioning.Folder.Init, p); err != nil {
				return err
			}
			fmt.Fprintf(a.Stdout, "Initialized workspace in %s\n", terminal.Quote(given[0]))
			return nil
		},
	}
	cli.Mirror(cmd, &p,
		"name=company_name: name of the company",
		"force: add a workspace to a folder that is not empty")
	return cmd
}

func validateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "workspace:validate <dir>",
		Short:   "Validate every document of a workspace",
		Long:    "Validate every document of a workspace. Exit status: 0 if it is valid, 2 with the issues on stderr if not.",
		Example: "  ac workspace:validate ./acme",
		Args:    cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			found, err := cli.Ask(cmd.Context(), a, maintenance.Folder.Validate, company.Dir{WorkspaceDir: given[0]})
			if err != nil {
				return err
			}
			for _, w := range found.Warnings {
				fmt.Fprintf(a.Stderr, "warning: %s\n", terminal.Quote(w.Message))
			}
			if found.OK {
				fmt.Fprintln(a.Stdout, "OK")
				return nil
			}
			fmt.Fprintln(a.Stderr, "VALIDATION FAILED")
			for _, issue := range found.Issues {
				fmt.Fprintf(a.Stderr, "- %s\n", terminal.Quote(issue.Message))
			}
			return cli.ExitError{Code: cli.ExitFindings}
		},
	}
}

func teamCommand(a *cli.App) *cobra.Command {
	var p workforce.NewTeamParams
	cmd := &cobra.Command{
		Use: "team:new <dir>", Short: "Create a team and print its id", Example: "  ac team:new ./acme --name Payments", Args: cli.Args("dir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.PrintID(cli.Ask(cmd.Context(), a, workforce.Operations.NewTeam, p))
		},
	}
	cli.Mirror(cmd, &p,
		"name: name of the team",
		"department-key: key of the team's department",
		"department-label: display name of the department",
		"charter: purpose of the department, in a sentence")
	return cmd
}

func agentCommand(a *cli.App) *cobra.Command {
	var p workforce.NewAgentParams
	roles := AgentRoles()
	cmd := &cobra.Command{
		Use: "agent:new <dir>", Short: "Create an agent and print its id",
		Example: "  ac agent:new ./acme --name Ann --role worker --provider codex --team team_01M7WQGTR95SV6EDMA61E1XR8M",
		Args:    cli.Args("dir"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(roles, p.Role) {
				return cli.UsageError{Message: "--role must be one of " + strings.Join(roles, ", ")}
			}
			return newAgent(cmd.Context(), a, p)
		},
	}
	cli.Mirror(cmd, &p,
		"name: name of the agent",
		"role: what it is",
		"provider: "+strings.Join(doc.WorkerKinds(), ", ")+", cmd, manual, ...",
		"team: id of its team")
	return cmd
}

// newAgent creates an agent and prints notes about anything unusual.
func newAgent(ctx context.Context, a *cli.App, p workforce.NewAgentParams) error {
	return a.Across(func(all *company.Host) error {
		before, _ := company.Do(ctx, all, (*company.Folder).Agents, company.AgentsParams{Dir: p.Dir}) // none if they cannot be read
		id, err := company.Do(ctx, all, workforce.Operations.NewAgent, p)
		if err != nil {
			return err
		}
		for _, other := range before {
			if strings.EqualFold(other.Name, p.Name) {
				fmt.Fprintf(a.Stderr, "note: there is another agent %s (…%s)\n", terminal.Quote(other.Name), cli.ShortID(other.AgentID))
			}
		}
		if note := OddProvider(p.Provider); note != "" {
			fmt.Fprintf(a.Stderr, "note: %s\n", cli.OneLine(note))
		}
		return a.PrintID(id, nil)
	})
}

func projectCommand(a *cli.App) *cobra.Command {
	var p workforce.NameParams
	cmd := &cobra.Command{
		Use: "project:new <dir>", Short: "Create a project and print its id", Example: "  ac project:new ./acme --name Checkout", Args: cli.Args("dir"),
		Long: "Create a project without conversations and print its id. Desktop apps create projects with their defaults: workspace.project.create_with_defaults.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.PrintID(cli.Ask(cmd.Context(), a, workforce.Operations.NewProject, p))
		},
	}
	cli.Mirror(cmd, &p,
		"name: name of the project")
	return cmd
}
