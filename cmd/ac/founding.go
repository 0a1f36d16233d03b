package main

// workspace:bootstrap and demo:init.

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/workspace/founding"
)

func bootstrapCommand(a *app) *cobra.Command {
	var o company.BootstrapParams
	var p company.BootstrapEnterpriseParams
	departments := founding.Departments()
	keys := make([]string, 0, len(departments))
	for _, d := range departments {
		keys = append(keys, d.Key)
	}
	cmd := &cobra.Command{
		Use: "workspace:bootstrap <dir>", Short: "Create a workspace with a company of departments", Args: args("dir"),
		Long: `Create a workspace with a company: a CEO, a director, a team with a manager and a
worker for each department, and a project with its conversations.

Departments: ` + strings.Join(keys, ", ") + `. --force replaces an existing
workspace as a whole; other files beside it stay. It is refused while sessions or jobs
of the workspace run.

With --org-mode, --department, --workers-per-dept or --executive-manager-name each
department has a director and workers, an enterprise has an executive manager, and an
existing company is completed instead of replaced.`,
		Example: "  ac workspace:bootstrap ./acme --name Acme\n  ac workspace:bootstrap ./acme --departments engineering design --no-ceo",
		RunE: func(cmd *cobra.Command, given []string) error {
			o.WorkspaceDir = given[0]
			if wantsDirectors(cmd) {
				return a.bootstrapDirected(cmd, o, p)
			}
			if o.Departments == nil {
				o.Departments = []string{"engineering", "product"}
			}
			return interruptible(cmd.Context(), func(ctx context.Context) error {
				result, err := ask(ctx, a, (*company.Folder).Bootstrap, o)
				for _, key := range result.Unknown {
					fmt.Fprintf(a.stderr, "warning: no department is called %q\n", key)
				}
				if err != nil {
					return err
				}
				return a.printJSON(result)
			})
		},
	}
	cmd.Flags().StringVar(&o.CompanyName, "name", "AgentCompany", "name of the company")
	cmd.Flags().StringVar(&o.ProjectName, "project-name", "AgentCompany Ops", "name of its project")
	valuesVar(cmd, &o.Departments, departmentsFlag, "its departments (default: engineering product)")
	cmd.Flags().BoolVar(&o.Force, "force", false, "replace an existing workspace")
	cmd.Flags().BoolVar(&o.NoCEO, "no-ceo", false, "create no CEO")
	cmd.Flags().BoolVar(&o.NoDirector, "no-director", false, "create no director")
	directed(cmd, &p)
	completeFlag(cmd, departmentsFlag, func(*cobra.Command, []string) []string { return keys })
	return cmd
}

const departmentsFlag = "departments"

func demoInitCommand(a *app) *cobra.Command {
	var p company.InitParams
	cmd := &cobra.Command{
		Use: "demo:init <dir>", Short: "Create a workspace with a demo company", Args: args("dir"),
		Long:    "Create a workspace with two teams, six agents, a project and a task for each team, and print the ids.",
		Example: "  ac demo:init ./demo",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Folder).Demo, p)
		},
	}
	cmd.Flags().StringVar(&p.CompanyName, "name", "AgentCompany Demo", "name of the company")
	cmd.Flags().BoolVar(&p.Force, "force", false, "add it to a folder that is not empty; nothing there is lost")
	return cmd
}
