package workspaces

// index:*: the index of a workspace.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
)

func indexCommand[R any](a *cli.App, name, short, long string, fn func(*company.Company, context.Context, company.Dir) (R, error)) *cobra.Command {
	return &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Example: "  ac " + name + " ./acme", Args: cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return cli.PrintJSON(cmd.Context(), a, fn, company.Dir{WorkspaceDir: given[0]})
		},
	}
}

func indexRebuildCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:rebuild", "Rebuild the index", "Rebuild the index of a workspace from its files, and print the numbers of rows.", (*company.Company).RebuildIndex)
}

func indexSyncCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:sync", "Bring the index up to date", "Bring the index of a workspace up to date with its files, or build it, and print what changed.", (*company.Company).SyncIndex)
}

func indexStatsCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:stats", "Count the rows of the index", "Count the rows of the index without syncing it.", (*company.Company).IndexStats)
}

// limitFlag declares the maximum number of rows.
func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 200, "maximum number of rows, up to 5000")
}

// statuses are the statuses of runs.
func statuses() []string { return []string{"running", "ended", "failed", "stopped"} }

func indexRunsCommand(a *cli.App) *cobra.Command {
	var p company.IndexRunsParams
	cmd := &cobra.Command{
		Use: "index:runs <dir>", Short: "List the runs in the index", Args: cli.Args("dir"),
		Long:    "List the runs in the index, newest first. The index is not synced: see index:sync.",
		Example: "  ac index:runs ./acme --status failed --limit 20",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.OneOf("status", p.Status, statuses()); p.Status != "" && err != nil {
			return err
		}
		return cli.PrintJSON(cmd.Context(), a, (*company.Company).IndexRuns, p)
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"status: only with this status")
	return cmd
}

func indexEventsCommand(a *cli.App) *cobra.Command {
	var p company.IndexEventsParams
	cmd := &cobra.Command{
		Use: "index:events <dir>", Short: "List the events of one run or of many", Args: cli.Args("dir"),
		Long: `List events by time, or those of one run in log order. --since-seq lists those after
a line of a run's log. The index is not synced: see index:sync.`,
		Example: "  ac index:events ./acme --run run_01M7WQGTR95SV6EDMA61E1XR8M --since-seq 120 --order asc",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.OneOf("order", p.Order, []string{"asc", "desc"}); p.Order != "" && err != nil {
			return err
		}
		if p.SinceSeq < 0 {
			return cli.UsageError{Message: "--since-seq must be at least 0"}
		}
		return cli.PrintJSON(cmd.Context(), a, (*company.Company).IndexEvents, p)
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"run: only of this run",
		"type: only of this type",
		"since-seq: only after this line",
		"order: by time")
	return cmd
}

func indexErrorsCommand(a *cli.App) *cobra.Command {
	var p company.IndexParseErrorsParams
	cmd := &cobra.Command{
		Use: "index:event-errors <dir>", Short: "List the lines of logs that are not events", Args: cli.Args("dir"),
		Long:    "List the lines of event logs that are not JSON objects, by run and line, descending.",
		Example: "  ac index:event-errors ./acme",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return cli.PrintJSON(cmd.Context(), a, (*company.Company).IndexParseErrors, p)
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"run: only of this run")
	return cmd
}

func indexReviewsCommand(a *cli.App) *cobra.Command {
	var p company.IndexReviewsParams
	cmd := &cobra.Command{
		Use: "index:reviews <dir>", Short: "List the reviews in the index", Args: cli.Args("dir"),
		Long:    "List the reviews in the index, newest first.",
		Example: "  ac index:reviews ./acme --decision denied",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.OneOf("decision", p.Decision, cli.DecisionWords()); p.Decision != "" && err != nil {
			return err
		}
		return cli.PrintJSON(cmd.Context(), a, (*company.Company).IndexReviews, p)
	}
	cli.Mirror(cmd, &p, "project: only of this project")
	cmd.Flags().Var((*cli.DecisionWord)(&p.Decision), "decision", "only this decision: approved or denied")
	cli.CompleteFlag(cmd, "decision", cli.Words(cli.DecisionWords()...))
	return cmd
}

func indexHelpCommand(a *cli.App) *cobra.Command {
	var p company.IndexHelpRequestsParams
	cmd := &cobra.Command{
		Use: "index:help <dir>", Short: "List the help requests in the index", Args: cli.Args("dir"),
		Long:    "List the help requests in the index, newest first.",
		Example: "  ac index:help ./acme --target agent_01M7WQGTR95SV6EDMA61E1XR8M",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return cli.PrintJSON(cmd.Context(), a, (*company.Company).IndexHelpRequests, p)
	}
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"target=target_manager: only to this manager")
	return cmd
}
