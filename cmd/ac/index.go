package main

// index:*: the index of a workspace.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/maintenance"
)

func indexCommand[R any](a *app, name, short, long string, fn func(maintenance.Operations, context.Context, company.Dir) (R, error)) *cobra.Command {
	return &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Example: "  ac " + name + " ./acme", Args: args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return printJSON(cmd.Context(), a, fn, company.Dir{WorkspaceDir: given[0]})
		},
	}
}

func indexRebuildCommand(a *app) *cobra.Command {
	return indexCommand(a, "index:rebuild", "Rebuild the index", "Rebuild the index of a workspace from its files, and print the numbers of rows.", maintenance.Operations.RebuildIndex)
}

func indexSyncCommand(a *app) *cobra.Command {
	return indexCommand(a, "index:sync", "Bring the index up to date", "Bring the index of a workspace up to date with its files, or build it, and print what changed.", maintenance.Operations.SyncIndex)
}

func indexStatsCommand(a *app) *cobra.Command {
	return indexCommand(a, "index:stats", "Count the rows of the index", "Count the rows of the index without syncing it.", maintenance.Operations.IndexStats)
}

// limitFlag declares the maximum number of rows.
func limitFlag(cmd *cobra.Command, limit *int) {
	cmd.Flags().IntVar(limit, "limit", 200, "maximum number of rows, up to 5000")
}

// statuses are the statuses of runs.
func statuses() []string { return []string{"running", "ended", "failed", "stopped"} }

func indexRunsCommand(a *app) *cobra.Command {
	var p maintenance.IndexRunsParams
	cmd := &cobra.Command{
		Use: "index:runs <dir>", Short: "List the runs in the index", Args: args("dir"),
		Long:    "List the runs in the index, newest first. The index is not synced: see index:sync.",
		Example: "  ac index:runs ./acme --status failed --limit 20",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("status", p.Status, statuses()); p.Status != "" && err != nil {
			return err
		}
		return printJSON(cmd.Context(), a, maintenance.Operations.IndexRuns, p)
	}
	mirror(cmd, &p,
		"project: only of this project",
		"status: only with this status")
	return cmd
}

func indexEventsCommand(a *app) *cobra.Command {
	var p maintenance.IndexEventsParams
	cmd := &cobra.Command{
		Use: "index:events <dir>", Short: "List the events of one run or of many", Args: args("dir"),
		Long: `List events by time, or those of one run in log order. --since-seq lists those after
a line of a run's log. The index is not synced: see index:sync.`,
		Example: "  ac index:events ./acme --run run_01M7WQGTR95SV6EDMA61E1XR8M --since-seq 120 --order asc",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("order", p.Order, []string{"asc", "desc"}); p.Order != "" && err != nil {
			return err
		}
		if p.SinceSeq < 0 {
			return usageError{"--since-seq must be at least 0"}
		}
		return printJSON(cmd.Context(), a, maintenance.Operations.IndexEvents, p)
	}
	mirror(cmd, &p,
		"project: only of this project",
		"run: only of this run",
		"type: only of this type",
		"since-seq: only after this line",
		"order: by time")
	return cmd
}

func indexErrorsCommand(a *app) *cobra.Command {
	var p maintenance.IndexParseErrorsParams
	cmd := &cobra.Command{
		Use: "index:event-errors <dir>", Short: "List the lines of logs that are not events", Args: args("dir"),
		Long:    "List the lines of event logs that are not JSON objects, by run and line, descending.",
		Example: "  ac index:event-errors ./acme",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return printJSON(cmd.Context(), a, maintenance.Operations.IndexParseErrors, p)
	}
	mirror(cmd, &p,
		"project: only of this project",
		"run: only of this run")
	return cmd
}

func indexReviewsCommand(a *app) *cobra.Command {
	var p maintenance.IndexReviewsParams
	cmd := &cobra.Command{
		Use: "index:reviews <dir>", Short: "List the reviews in the index", Args: args("dir"),
		Long:    "List the reviews in the index, newest first.",
		Example: "  ac index:reviews ./acme --decision denied",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := oneOf("decision", p.Decision, decisionWords()); p.Decision != "" && err != nil {
			return err
		}
		return printJSON(cmd.Context(), a, maintenance.Operations.IndexReviews, p)
	}
	mirror(cmd, &p, "project: only of this project")
	cmd.Flags().Var((*decisionWord)(&p.Decision), "decision", "only this decision: approved or denied")
	completeFlag(cmd, "decision", words(decisionWords()...))
	return cmd
}

func indexHelpCommand(a *app) *cobra.Command {
	var p maintenance.IndexHelpRequestsParams
	cmd := &cobra.Command{
		Use: "index:help <dir>", Short: "List the help requests in the index", Args: args("dir"),
		Long:    "List the help requests in the index, newest first.",
		Example: "  ac index:help ./acme --target agent_01M7WQGTR95SV6EDMA61E1XR8M",
	}
	limitFlag(cmd, &p.Limit)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return printJSON(cmd.Context(), a, maintenance.Operations.IndexHelpRequests, p)
	}
	mirror(cmd, &p,
		"project: only of this project",
		"target=target_manager: only to this manager")
	return cmd
}
