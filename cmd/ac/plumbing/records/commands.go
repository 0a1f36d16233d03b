// Package records has the commands with a colon on a company's records: tasks and plans,
// conversations, artifacts, memory, needs and decisions, and mistakes. It also has those that
// create companies.
package records

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the commands on a company's records.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		conversationListCommand(a), conversationNewCommand(a), conversationDMCommand(a), conversationSendCommand(a), conversationReadCommand(a), conversationFollowCommand(a),
		commentAddCommand(a), commentListCommand(a),
		taskNewCommand(a), taskAddMilestoneCommand(a), taskValidateCommand(a), taskListCommand(a), taskPlanCommand(a),
		pmSnapshotCommand(a), pmGanttCommand(a), pmRecommendCommand(a), pmApplyCommand(a),
		artifactNewCommand(a), artifactValidateCommand(a), artifactReadCommand(a),
		artifactFilesCommand(a), artifactPreviewCommand(a), artifactApplyCommand(a), artifactRevertCommand(a), runChangesCommand(a),
		memoryDeltaCommand(a), memoryApproveCommand(a), memoryPreviewCommand(a),
		memoryListCommand(a), memoryCandidatesCommand(a), contextPlanCommand(a),
		milestoneReportCommand(a), milestoneApproveCommand(a), helpNewCommand(a), helpValidateCommand(a), inboxResolveCommand(a), uiResolveCommand(a),
		helpAnswerCommand(a), needsListCommand(a), needsShowCommand(a), needsDismissCommand(a),
		inboxShowCommand(a),
		monitorRunsCommand(a), inboxSnapshotCommand(a), uiSnapshotCommand(a), managerDashboardCommand(a),
		artifactFillCommand(a), pipelineIntakeCommand(a), pipelinePlanCommand(a),
		clientIntakeCommand(a), assignTasksCommand(a),
		enterpriseEnsureCommand(a),
		bootstrapCommand(a), demoInitCommand(a),
		recordMistakeCommand(a), improveCommand(a), refreshContextCommand(a),
	}
}
