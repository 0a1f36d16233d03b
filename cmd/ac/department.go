package main

// pipeline:client-intake and pipeline:assign-department-tasks: from a client's
// request to tasks.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/company"
)

func clientIntakeCommand(a *app) *cobra.Command {
	var p company.ClientIntakeParams
	var file string
	cmd := &cobra.Command{
		Use: "pipeline:client-intake <dir>", Short: "Draft the plans for a client's request and ask the CEO for approval", Args: args("dir"),
		Long: `Create a project for a client's request: an intake brief, an executive plan, a plan
and a task for each department with a director, and a proposal that asks the CEO to
approve the executive plan. With --model agents write the plans; without it they are
drafts.

Exit status: 130 or 143 if interrupted, with the runs stopped.`,
		Example: `  ac pipeline:client-intake ./acme --project-name Shop --ceo-actor-id human_ceo \
    --executive-manager-agent-id agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --intake-file request.md`,
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if err := require(cmd, "project-name", "ceo-actor-id", "executive-manager-agent-id"); err != nil {
				return err
			}
			if p.IntakeText, err = textOrFile(cmd, "intake", "intake-file", p.IntakeText, file); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return a.interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				made, err := company.Do(ctx, all, (*company.Company).TakeInClient, p)
				if err != nil {
					return err
				}
				return a.printJSON(made)
			})
		},
	}
	cmd.Flags().StringVar(&p.ProjectName, "project-name", "", "name of the project (required)")
	cmd.Flags().StringVar(&p.CEOActorID, "ceo-actor-id", "", "id of the approver: human_ceo or an agent (required)")
	cmd.Flags().StringVar(&p.ExecutiveManagerID, "executive-manager-agent-id", "", "id of the executive manager (required)")
	cmd.Flags().StringVar(&p.IntakeText, "intake", "", "the client's request")
	cmd.Flags().StringVar(&file, "intake-file", "", "file with the client's request")
	cmd.Flags().StringVar(&p.Model, "model", "", "model that writes the plans")
	completeFlag(cmd, "ceo-actor-id", a.agentIDs)
	completeFlag(cmd, "executive-manager-agent-id", a.agentIDs)
	return cmd
}

func assignTasksCommand(a *app) *cobra.Command {
	var p company.AssignTasksParams
	cmd := &cobra.Command{
		Use: "pipeline:assign-department-tasks <dir>", Short: "Assign the work of an approved plan to the workers of a department", Args: args("dir"),
		Long: `Create a task of an approved executive plan for each worker. A worker who already has
one keeps it; a worker of another team gets none.`,
		Example: `  ac pipeline:assign-department-tasks ./acme --project-id proj_01M7WQGTQHQA1J50C42GD1KN1S --department-key backend \
    --director-agent-id agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --worker-agent-ids agent_01M7WQZV5BRAS3VSSYS7ZD5VZS \
    --approved-executive-plan-artifact-id art_01M7WR5DNVQ27WB0DNRZ77PVD7`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project-id", "department-key", "director-agent-id", "worker-agent-ids", "approved-executive-plan-artifact-id"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).AssignTasks, p)
		},
	}
	cmd.Flags().StringVar(&p.ProjectID, "project-id", "", "id of the project (required)")
	cmd.Flags().StringVar(&p.DepartmentKey, "department-key", "", "key of the department (required)")
	cmd.Flags().StringVar(&p.DirectorAgentID, "director-agent-id", "", "id of its director (required)")
	valuesVar(cmd, &p.WorkerAgentIDs, "worker-agent-ids", "ids of its workers (required)")
	cmd.Flags().StringVar(&p.PlanArtifactID, "approved-executive-plan-artifact-id", "", "id of the executive plan (required)")
	completeFlag(cmd, "project-id", a.projectIDs)
	completeFlag(cmd, "director-agent-id", a.agentIDs)
	completeFlag(cmd, "worker-agent-ids", a.agentIDs)
	completeFlag(cmd, "department-key", func(*cobra.Command, []string) []string { return departmentKeys() })
	return cmd
}
