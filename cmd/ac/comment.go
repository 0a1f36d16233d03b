package main

// comment:*: comments on work.

import (
	"github.com/spf13/cobra"

	"ac/company"
	"ac/workspace/doc"
)

// targetFlags declares the options for the target of comments.
func targetFlags(a *app, cmd *cobra.Command, project, agent, artifact, run *string) {
	cmd.Flags().StringVar(project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(agent, "target-agent", "", "id of the agent to comment on")
	cmd.Flags().StringVar(artifact, "target-artifact", "", "id of the artifact to comment on")
	cmd.Flags().StringVar(run, "target-run", "", "id of the run to comment on")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "target-agent", a.agentIDs)
	completeFlag(cmd, "target-run", a.runIDs)
}

func commentAddCommand(a *app) *cobra.Command {
	var p company.AddCommentParams
	cmd := &cobra.Command{
		Use: "comment:add <dir>", Short: "Comment on an agent, an artifact or a run", Args: args("dir"),
		Example: "  ac comment:add ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --target-run run_01M7WQGTR95SV6EDMA61E1XR8M --body 'looks good'",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project", "body"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).AddComment, p)
		},
	}
	targetFlags(a, cmd, &p.ProjectID, &p.TargetAgentID, &p.TargetArtifactID, &p.TargetRunID)
	cmd.Flags().StringVar(&p.Body, "body", "", "text of the comment (required)")
	cmd.Flags().StringVar(&p.AuthorID, "author", "human", "id of the author")
	cmd.Flags().StringVar(&p.AuthorRole, "role", "manager", "role of the author: human, ceo, director, manager or worker")
	cmd.Flags().StringVar(&p.Visibility, "visibility", "managers", "visibility: private_agent, team, managers or org")
	completeFlag(cmd, "role", words(doc.Roles()...))
	completeFlag(cmd, "visibility", words(doc.Visibilities()...))
	return cmd
}

func commentListCommand(a *app) *cobra.Command {
	var p company.ListCommentsParams
	cmd := &cobra.Command{
		Use: "comment:list <dir>", Short: "List the comments of a project, newest first", Args: args("dir"),
		Example: "  ac comment:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac comment:list ./acme --project P --target-agent agent_01M7WQGTGTXSZWKNSAQVRS4PJE --limit 20",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Folder).ListComments, p)
		},
	}
	targetFlags(a, cmd, &p.ProjectID, &p.TargetAgentID, &p.TargetArtifactID, &p.TargetRunID)
	cmd.Flags().IntVar(&p.Limit, "limit", 200, "maximum number of comments, up to 5000")
	return cmd
}
