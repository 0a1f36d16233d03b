// Package workspaces has the commands with a colon on whole workspaces: creating, validating,
// diagnosing and moving them, their teams, agents and projects, the index, the logs and their
// seals, usage, and the settings of this machine.
package workspaces

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// Commands returns the commands on whole workspaces.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		initCommand(a), validateCommand(a), teamCommand(a), agentCommand(a), projectCommand(a),
		indexRebuildCommand(a), indexSyncCommand(a), indexStatsCommand(a), indexRunsCommand(a), indexEventsCommand(a), indexErrorsCommand(a), indexReviewsCommand(a), indexHelpCommand(a),
		usageSeriesCommand(a), searchQueryCommand(a),
		reconcileRecordCommand(a), reconcileSnapshotCommand(a), usageReportCommand(a), capabilitiesCommand(a),
		auditSealCommand(a), auditVerifyCommand(a), auditKeyCommand(a),
		verifyCommand(a),
		doctorCommand(a), diagnosticsCommand(a),
		migrateCommand(a), exportCommand(a), importCommand(a),
		setRepoCommand(a), setProviderBinCommand(a), setAgentCommandCommand(a), allowModelHostCommand(a),
		worktreeCleanupCommand(a),
		terminalShellsCommand(a),
	}
}
