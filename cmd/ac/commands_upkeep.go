package main

// The commands that keep a workspace sound: its files, index, logs, seals and bills.

import "github.com/spf13/cobra"

// upkeepCommands are the commands that keep a workspace sound.
func upkeepCommands(a *app) []*cobra.Command {
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
