package records

// workspace:bootstrap and demo:init.

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/workspace/founding"
)

func bootstrapCommand(a *cli.App) *cobra.Command {
	o := company.BootstrapParams{CompanyName: "AgentCompany", ProjectName: "AgentCompany Ops"}
	var p company.BootstrapEnterpriseParams
	departments := founding.Departments()
	keys := make([]string, 0, len(departments))
	for _, d := range departments {
		keys = append(keys, d.Key)
	}
	cmd := &cobra.Command{
		Use: "workspace:bootstrap <dir>", Short: "Create a workspace with a company of departments", Args: cli.Args("dir"),
		Long: `Create a workspace with a company: a CEO, a director, a team with a manager and a
worker for each department, and a project with its conversations.

Departments: ` + strings.Join(keys, ", ") + `. --force replaces an existing
workspace as a whole; other files beside it stay. It is refused while sessions or jobs
of the workspace run.

With --org-mode, --department, --workers-per-dept or --executive-manager-name each
department has a director and workers, an enterprise has an executive manager, and an
existing company is completed instead of replaced.`,
		Example: "  ac workspace:bootstrap ./acme --name Acme\n  ac workspace:bootstrap ./acme --departments engineering design --no-ceo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wantsDirectors(cmd) {
				return bootstrapDirected(a, cmd, o, p)
			}
			if o.Departments == nil {
				o.Departments = []string{"engineering", "product"}
			}
			return cli.Interruptible(cmd.Context(), func(ctx context.Context) error {
				result, err := cli.Ask(ctx, a, (*company.Folder).Bootstrap, o)
				for _, key := range result.Unknown {
					fmt.Fprintf(a.Stderr, "warning: no department is called %q\n", key)
				}
				if err != nil {
					return err
				}
				return a.PrintJSON(result)
			})
		},
	}
	cli.Mirror(cmd, &o,
		"name=company_name: name of the company",
		"project-name: name of its project",
		"force: replace an existing workspace",
		"no-ceo: create no CEO",
		"no-director: create no director")
	cli.ValuesVar(cmd, &o.Departments, departmentsFlag, "its departments (default: engineering product)")
	directed(cmd, &p)
	cli.CompleteFlag(cmd, departmentsFlag, func(*cobra.Command, []string) []string { return keys })
	return cmd
}

const departmentsFlag = "departments"

func demoInitCommand(a *cli.App) *cobra.Command {
	p := company.InitParams{CompanyName: "AgentCompany Demo"}
	cmd := &cobra.Command{
		Use: "demo:init <dir>", Short: "Create a workspace with a demo company", Args: cli.Args("dir"),
		Long:    "Create a workspace with two teams, six agents, a project and a task for each team, and print the ids.",
		Example: "  ac demo:init ./demo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, (*company.Folder).Demo, p)
		},
	}
	cli.Mirror(cmd, &p,
		"name=company_name: name of the company",
		"force: add it to a folder that is not empty; nothing there is lost")
	return cmd
}
