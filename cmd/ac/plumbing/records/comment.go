package records

// comment:*: comments on work.

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
)

// targetFlags declares the options for the target of comments.
func targetFlags(cmd *cobra.Command, project, agent, artifact, run *string) {
	cmd.Flags().StringVar(project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(agent, "target-agent", "", "id of the agent to comment on")
	cmd.Flags().StringVar(artifact, "target-artifact", "", "id of the artifact to comment on")
	cmd.Flags().StringVar(run, "target-run", "", "id of the run to comment on")
}

func commentAddCommand(a *cli.App) *cobra.Command {
	p := decisions.AddCommentParams{AuthorID: "human", AuthorRole: "manager"}
	cmd := &cobra.Command{
		Use: "comment:add <dir>", Short: "Comment on an agent, an artifact or a run", Args: cli.Args("dir"),
		Example: "  ac comment:add ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --target-run run_01M7WQGTR95SV6EDMA61E1XR8M --body 'looks good'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "project"); err != nil {
				return err
			}
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.AddComment, p)
		},
	}
	targetFlags(cmd, &p.ProjectID, &p.TargetAgentID, &p.TargetArtifactID, &p.TargetRunID)
	cli.Mirror(cmd, &p,
		"body: text of the comment",
		"author: id of the author",
		"role=author_role: role of the author",
		"visibility: who may see it")
	return cmd
}

func commentListCommand(a *cli.App) *cobra.Command {
	p := company.ListCommentsParams{Limit: 200}
	cmd := &cobra.Command{
		Use: "comment:list <dir>", Short: "List the comments of a project, newest first", Args: cli.Args("dir"),
		Example: "  ac comment:list ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S\n  ac comment:list ./acme --project P --target-agent agent_01M7WQGTGTXSZWKNSAQVRS4PJE --limit 20",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "project"); err != nil {
				return err
			}
			return cli.PrintJSON(cmd.Context(), a, (*company.Folder).ListComments, p)
		},
	}
	targetFlags(cmd, &p.ProjectID, &p.TargetAgentID, &p.TargetArtifactID, &p.TargetRunID)
	cli.Mirror(cmd, &p,
		"limit: maximum number of comments, up to 5000")
	return cmd
}
