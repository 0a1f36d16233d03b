package records

// pipeline:client-intake and pipeline:assign-department-tasks: turning a client's request into
// tasks.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
)

func clientIntakeCommand(a *cli.App) *cobra.Command {
	var p workforce.ClientIntakeParams
	var file string
	cmd := &cobra.Command{
		Use: "pipeline:client-intake <dir>", Short: "Draft the plans for a client's request and ask the CEO for approval", Args: cli.Args("dir"),
		Long: `Create a project for a client's request: an intake brief, an executive plan, a plan
and a task for each department with a director, and a proposal that asks the CEO to
approve the executive plan. With --model agents write the plans; without it they are
drafts.

Exit status: 130 or 143 if interrupted, with the runs stopped.`,
		Example: `  ac pipeline:client-intake ./acme --project-name Shop --ceo-actor-id human_ceo \
    --executive-manager-agent-id agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --intake-file request.md`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.IntakeText, err = textOrFile(cmd, "intake", "intake-file", p.IntakeText, file); err != nil {
				return err
			}
			return a.Interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				made, err := company.Do(ctx, all, workforce.Operations.TakeInClient, p)
				if err != nil {
					return err
				}
				return a.PrintJSON(made)
			})
		},
	}
	cli.Mirror(cmd, &p,
		"project-name: name of the project",
		"ceo-actor-id: id of the approver: human_ceo or an agent",
		"executive-manager-agent-id: id of the executive manager",
		"intake=intake_text: the client's request",
		"model: model that writes the plans")
	cmd.Flags().StringVar(&file, "intake-file", "", "file with the client's request")
	return cmd
}

func assignTasksCommand(a *cli.App) *cobra.Command {
	var p workforce.AssignTasksParams
	cmd := &cobra.Command{
		Use: "pipeline:assign-department-tasks <dir>", Short: "Assign the work of an approved plan to the workers of a department", Args: cli.Args("dir"),
		Long: `Create a task of an approved executive plan for each worker. A worker who already has
one keeps it; a worker of another team gets none.`,
		Example: `  ac pipeline:assign-department-tasks ./acme --project-id proj_01M7WQGTQHQA1J50C42GD1KN1S --department-key backend \
    --director-agent-id agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --worker-agent-ids agent_01M7WQZV5BRAS3VSSYS7ZD5VZS \
    --approved-executive-plan-artifact-id art_01M7WR5DNVQ27WB0DNRZ77PVD7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.AssignTasks, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project-id: id of the project",
		"department-key: key of the department",
		"director-agent-id: id of its director",
		"worker-agent-ids: ids of its workers",
		"approved-executive-plan-artifact-id: id of the executive plan")
	cli.CompleteFlag(cmd, "department-key", func(*cobra.Command, []string) []string { return departmentKeys() })
	return cmd
}
