package workspaces

// worktree:cleanup.

import (
	"math"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/decisions"
)

func worktreeCleanupCommand(a *cli.App) *cobra.Command {
	var p decisions.CleanUpWorktreesParams
	cmd := &cobra.Command{
		Use: "worktree:cleanup <dir>", Short: "Remove the worktrees of finished runs", Args: cli.Args("dir"),
		Long: `Remove the worktrees of finished runs, and print the outcome for each. It keeps those
of runs that are active or ended recently, and those with uncommitted or untracked
files. The branches stay.`,
		Example: "  ac worktree:cleanup ./acme --dry-run\n  ac worktree:cleanup ./acme --max-age-hours 24",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if math.IsNaN(p.MaxAgeHours) || math.IsInf(p.MaxAgeHours, 0) || p.MaxAgeHours < 0 {
				return cli.UsageError{Message: "--max-age-hours must be a number of at least 0"}
			}
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.CleanUpWorktrees, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"max-age-hours: hours since the end of a run before its worktree is removed",
		"dry-run: print what would be removed and remove nothing")
	return cmd
}
