package cli

// Options that several kinds of commands share.

import (
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/workspace/doc"
)

// ActorFlags declares the options that identify the actor.
func ActorFlags(cmd *cobra.Command, id, role *string) {
	cmd.Flags().StringVar(id, "actor", "human", "id of the actor")
	cmd.Flags().StringVar(role, "role", "human", "role of the actor: "+strings.Join(doc.Roles(), ", "))
}

// IndexFlags declares the options for how snapshots prepare the index. bindIndex applies them to
// step after parsing.
func IndexFlags(cmd *cobra.Command, step *company.IndexStep) (bindIndex func()) {
	noSync := false
	cmd.Flags().BoolVar(&step.RefreshIndex, "refresh-index", false, "rebuild the index first")
	cmd.Flags().BoolVar(&noSync, "no-sync-index", false, "do not sync the index first")
	return func() { step.SyncIndex = !noSync }
}

// ItemLimitFlags declares the limits of lists of items.
func ItemLimitFlags(cmd *cobra.Command, l *company.ItemLimits) {
	cmd.Flags().IntVar(&l.PendingLimit, "pending-limit", 200, "maximum number of pending items, up to 5000")
	cmd.Flags().IntVar(&l.DecisionsLimit, "decisions-limit", 200, "maximum number of decisions, up to 5000")
}

// ScreenLimitFlags declares the limits of the lists of a screen.
func ScreenLimitFlags(cmd *cobra.Command, l *company.ScreenLimits) {
	ItemLimitFlags(cmd, &l.ItemLimits)
	cmd.Flags().IntVar(&l.MonitorLimit, "monitor-limit", 200, "maximum number of runs, up to 5000")
}

// SomeProjectFlag declares an optional project.
func SomeProjectFlag(cmd *cobra.Command, project *string) {
	cmd.Flags().StringVar(project, "project", "", "id of a project")
}
