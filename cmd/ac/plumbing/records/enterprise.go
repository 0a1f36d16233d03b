package records

// workspace:enterprise:ensure, and the part of workspace:bootstrap that creates
// companies with directors.

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/provisioning"
	"ac/enterprise"
)

// departmentKeys returns the keys of all presets.
func departmentKeys() []string {
	all := enterprise.Departments()
	keys := make([]string, len(all))
	for i, d := range all {
		keys[i] = d.Key
	}
	return keys
}

// enterpriseFlags lists the options of workspace:bootstrap that select a company with directors.
func enterpriseFlags() []string {
	return []string{"org-mode", "department", "workers-per-dept", "executive-manager-name"}
}

// directed declares these options.
func directed(cmd *cobra.Command, p *provisioning.BootstrapEnterpriseParams) {
	cmd.Flags().StringVar(&p.OrgMode, "org-mode", enterprise.ModeEnterprise, "enterprise or standard: create departments with directors")
	cli.ValuesVar(cmd, &p.Departments, "department", "its departments with directors: keys as above, or frontend, backend, agent_resources, marketing, infra")
	cmd.Flags().IntVar(&p.WorkersPerDept, "workers-per-dept", 2, "workers in each department")
	cmd.Flags().StringVar(&p.ExecutiveManagerName, "executive-manager-name", "Executive Manager", "name of the executive manager")
	cli.CompleteFlag(cmd, "org-mode", cli.Words(enterprise.ModeEnterprise, enterprise.ModeStandard))
	cli.CompleteFlag(cmd, "department", func(*cobra.Command, []string) []string { return departmentKeys() })
}

// wantsDirectors reports whether one of these options was set.
func wantsDirectors(cmd *cobra.Command) bool {
	for _, name := range enterpriseFlags() {
		if cmd.Flag(name).Changed {
			return true
		}
	}
	return false
}

// bootstrapDirected creates a company with directors.
func bootstrapDirected(a *cli.App, cmd *cobra.Command, o provisioning.BootstrapParams, p provisioning.BootstrapEnterpriseParams) error {
	p.Dir, p.CompanyName, p.ProjectName, p.Force = o.Dir, o.CompanyName, o.ProjectName, o.Force
	p.IncludeCEO, p.IncludeDirector = !o.NoCEO, !o.NoDirector
	p.Departments = append(p.Departments, o.Departments...)
	return cli.Interruptible(cmd.Context(), func(ctx context.Context) error {
		result, err := cli.Ask(ctx, a, provisioning.Folder.BootstrapEnterprise, p)
		for _, key := range result.Ignored {
			fmt.Fprintf(a.Stderr, "warning: no department is called %q\n", key)
		}
		if err != nil {
			return err
		}
		return a.PrintJSON(result)
	})
}

func enterpriseEnsureCommand(a *cli.App) *cobra.Command {
	p := provisioning.EnterpriseParams{CompanyName: "AgentCompany", ProjectName: "AgentCompany Ops", ExecutiveManagerName: "Executive Manager"}
	cmd := &cobra.Command{
		Use: "workspace:enterprise:ensure <dir>", Short: "Create a company of departments if there is no company yet", Args: cli.Args("dir"),
		Long: `Create a company of departments in a folder that is missing or empty, or in an empty
workspace. An existing company stays as it is; the result has the reason.`,
		Example: "  ac workspace:enterprise:ensure ./acme --name Acme --department frontend backend",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, provisioning.Folder.EnsureEnterprise, p)
		},
	}
	cli.Mirror(cmd, &p,
		"name=company_name: name of the company",
		"project-name: name of its project",
		"executive-manager-name: name of the executive manager",
		"department=departments: its departments (default: frontend backend agent_resources marketing infra data)",
		"workers-per-dept: workers in each department")
	cli.CompleteFlag(cmd, "department", func(*cobra.Command, []string) []string { return departmentKeys() })
	return cmd
}
