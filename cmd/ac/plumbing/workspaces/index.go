package workspaces

// index:*: the index of a workspace.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/maintenance"
)

// indexCommand returns a command on the whole index. It prints the result of fn.
func indexCommand[R any](a *cli.App, name, short, long string, fn func(maintenance.Operations, context.Context, company.Dir) (R, error)) *cobra.Command {
	return &cobra.Command{
		Use: name + " <dir>", Short: short, Long: long, Example: "  ac " + name + " ./acme", Args: cli.Args("dir"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return cli.PrintJSON(cmd.Context(), a, fn, company.Dir{WorkspaceDir: given[0]})
		},
	}
}

func indexRebuildCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:rebuild", "Rebuild the index", "Rebuild the index of a workspace from its files, and print the numbers of rows.", maintenance.Operations.RebuildIndex)
}

func indexSyncCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:sync", "Bring the index up to date", "Bring the index of a workspace up to date with its files, or build it, and print what changed.", maintenance.Operations.SyncIndex)
}

func indexStatsCommand(a *cli.App) *cobra.Command {
	return indexCommand(a, "index:stats", "Count the rows of the index", "Count the rows of the index without syncing it.", maintenance.Operations.IndexStats)
}

// listCommand completes a command that prints rows of the index. p holds the params of list.
// options are Mirror's declarations, without the limit.
func listCommand[P, R any](
	a *cli.App, cmd *cobra.Command, p *P, list func(maintenance.Operations, context.Context, P) ([]R, error), options ...string,
) *cobra.Command {
	cmd.Use += " <dir>"
	cmd.Args = cli.Args("dir")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cli.PrintJSON(cmd.Context(), a, list, *p) }
	cli.Mirror(cmd, p, append(options, "limit: maximum number of rows, up to 5000")...)
	return cmd
}

// ifGiven returns a check that refuses a non-empty word that is not among words.
func ifGiven(option string, word *string, words ...string) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error {
		if *word == "" {
			return nil
		}
		return cli.OneOf(option, *word, words)
	}
}

func indexRunsCommand(a *cli.App) *cobra.Command {
	var p maintenance.IndexRunsParams
	return listCommand(a, &cobra.Command{
		Use: "index:runs", Short: "List the runs in the index", PreRunE: ifGiven("status", &p.Status, "running", "ended", "failed", "stopped"),
		Long:    "List the runs in the index, newest first. The index is not synced: see index:sync.",
		Example: "  ac index:runs ./acme --status failed --limit 20",
	}, &p, maintenance.Operations.IndexRuns,
		"project: only of this project",
		"status: only with this status")
}

func indexEventsCommand(a *cli.App) *cobra.Command {
	p := maintenance.IndexEventsParams{Limit: 200}
	order := ifGiven("order", &p.Order, "asc", "desc")
	return listCommand(a, &cobra.Command{
		Use: "index:events", Short: "List the events of one run or of many",
		Long: `List events by time, or those of one run in log order. --since-seq lists those after
a line of a run's log. The index is not synced: see index:sync.`,
		Example: "  ac index:events ./acme --run run_01M7WQGTR95SV6EDMA61E1XR8M --since-seq 120 --order asc",
		PreRunE: func(cmd *cobra.Command, given []string) error {
			if err := order(cmd, given); err != nil {
				return err
			}
			if p.SinceSeq < 0 {
				return cli.UsageError{Message: "--since-seq must be at least 0"}
			}
			return nil
		},
	}, &p, maintenance.Operations.IndexEvents,
		"project: only of this project",
		"run: only of this run",
		"type: only of this type",
		"since-seq: only after this line",
		"order: by time")
}

func indexErrorsCommand(a *cli.App) *cobra.Command {
	return listCommand(a, &cobra.Command{
		Use: "index:event-errors", Short: "List the lines of logs that are not events",
		Long:    "List the lines of event logs that are not JSON objects, by run and line, descending.",
		Example: "  ac index:event-errors ./acme",
	}, &maintenance.IndexParseErrorsParams{}, maintenance.Operations.IndexParseErrors,
		"project: only of this project",
		"run: only of this run")
}

func indexReviewsCommand(a *cli.App) *cobra.Command {
	var p maintenance.IndexReviewsParams
	cmd := listCommand(a, &cobra.Command{
		Use: "index:reviews", Short: "List the reviews in the index", PreRunE: ifGiven("decision", &p.Decision, cli.DecisionWords()...),
		Long:    "List the reviews in the index, newest first.",
		Example: "  ac index:reviews ./acme --decision denied",
	}, &p, maintenance.Operations.IndexReviews, "project: only of this project")
	cmd.Flags().Var((*cli.DecisionWord)(&p.Decision), "decision", "only this decision: approved or denied")
	cli.CompleteFlag(cmd, "decision", cli.Words(cli.DecisionWords()...))
	return cmd
}

func indexHelpCommand(a *cli.App) *cobra.Command {
	return listCommand(a, &cobra.Command{
		Use: "index:help", Short: "List the help requests in the index",
		Long:    "List the help requests in the index, newest first.",
		Example: "  ac index:help ./acme --target agent_01M7WQGTR95SV6EDMA61E1XR8M",
	}, &maintenance.IndexHelpRequestsParams{}, maintenance.Operations.IndexHelpRequests,
		"project: only of this project",
		"target=target_manager: only to this manager")
}
