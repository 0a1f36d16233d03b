// Package execution has the commands with a colon that run agents: runs and their sessions, jobs,
// workflows, the heartbeat, hubs and workers. Short commands reuse its launch options and its
// rendering of transcripts.
package execution

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the commands that run agents.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		runNewCommand(a), runExecuteCommand(a), runDiscardCommand(a), runListCommand(a), runReplayCommand(a),
		runSteerCommand(a), runInterruptCommand(a), runPolicyCommand(a), runAnswerCommand(a),
		runLaunchCommand(a), runRetryCommand(a), runContinueCommand(a),
		runCompactCommand(a),
		runTranscriptCommand(a), runWatchCommand(a),
		runReviewCommand(a),
		sessionListCommand(a), sessionStopCommand(a),
		interactionListCommand(a),
		sharePackCreateCommand(a), sharePackReplayCommand(a),
		jobSubmitCommand(a), jobListCommand(a), jobPollCommand(a), jobCollectCommand(a), jobCancelCommand(a),
		workflowListCommand(a), workflowShowCommand(a), workflowRunCommand(a), workflowStatusCommand(a), workflowCancelCommand(a),
		heartbeatStatusCommand(a), heartbeatTickCommand(a), heartbeatConfigCommand(a), heartbeatEnableCommand(a), heartbeatDisableCommand(a),
		hubStopCommand(a), hubStatusCommand(a), hubConfigCommand(a),
		sessionAbandonCommand(a), workerInviteCommand(a), workerListCommand(a), workerDrainCommand(a), workerRevokeCommand(a), workerLabelCommand(a),
		hubStartCommand(a), hubPermissionsCommand(a), workerJoinCommand(a), workerStartCommand(a), workerStatusCommand(a),
	}
}
