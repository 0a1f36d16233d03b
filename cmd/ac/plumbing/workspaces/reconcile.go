package workspaces

// usage:reconcile:*, usage:report, and system:capabilities.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/rpc"
)

func reconcileRecordCommand(a *cli.App) *cobra.Command {
	var p workforce.RecordStatementParams
	var tokens int64
	cmd := &cobra.Command{
		Use: "usage:reconcile:record <dir>", Short: "Record a bill of a provider", Args: cli.Args("dir"),
		Long: `Record one line of a provider's bill, for comparison with the usage of runs. A
statement with the id of an earlier one replaces it.`,
		Example: "  ac usage:reconcile:record ./acme --provider codex --period-start 2026-11-01 --period-end 2026-11-30 --billed-cost-usd 41.5 --statement-id inv-7",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flag("billed-cost-usd").Changed {
				return cli.UsageError{Message: "required option --billed-cost-usd is missing"}
			}
			if cmd.Flag("billed-tokens").Changed {
				p.BilledTokens = &tokens
			}
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.RecordStatement, p)
		},
	}
	cli.Mirror(cmd, &p,
		"provider: name of the provider",
		"period-start: first day, or a timestamp",
		"period-end: last day, or a timestamp",
		"billed-cost-usd: billed amount in US dollars",
		"statement-id: id of the statement (default: a new one)",
		"source: where it comes from",
		"external-ref: the provider's reference",
		"notes: notes")
	cmd.Flags().Int64Var(&tokens, "billed-tokens", 0, "billed tokens")
	return cmd
}

func reconcileSnapshotCommand(a *cli.App) *cobra.Command {
	var p workforce.ReconciliationParams
	cmd := &cobra.Command{
		Use: "usage:reconcile:snapshot <dir>", Short: "Compare the bills of providers with the usage of runs", Args: cli.Args("dir"),
		Long:    "Compare the bills with the usage of runs, in total, by provider and by statement. Bills have no project: --project filters the runs only.",
		Example: "  ac usage:reconcile:snapshot ./acme --period-start 2026-11-01 --period-end 2026-11-30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.Reconciliation, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: only the runs of this project",
		"period-start: from this day or timestamp",
		"period-end: up to the end of this day, or to this timestamp")
	return cmd
}

func usageReportCommand(a *cli.App) *cobra.Command {
	var p workforce.UsageReportParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "usage:report <dir>", Short: "Show what was used by day", Args: cli.Args("dir"),
		Long: `Show the runs, the tokens and the cost of the last days, by day; days without runs are
left out. With --json the result of usage.report, which has models, projects, agents and
providers too.`,
		Example: "  ac usage:report ./acme --days 7\n  ac usage:report ./acme --tz -60",
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := cli.Ask(cmd.Context(), a, workforce.Operations.UsageReport, p)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.PrintJSON(report)
			}
			const width = 80
			for _, line := range CostTable("day", CostRows(&report, "day"), &report, width, false).Lines(width, false) {
				fmt.Fprintln(a.Stdout, line)
			}
			return nil
		},
	}
	cli.Mirror(cmd, &p,
		"days: how many days, today included",
		"tz=timezone_offset_minutes: UTC minus local time, in minutes",
		"project: only the runs of this project",
		"agent: only the runs of this agent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func capabilitiesCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "system:capabilities", Short: "Show the methods and limits of this program", Args: cli.Args(),
		Long:    "Print the result of system.capabilities.",
		Example: "  ac system:capabilities",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Across(func(all *company.Host) error {
				result, err := rpc.NewTable(a.Version).Call(cmd.Context(), all, "system.capabilities", nil)
				if err != nil {
					return err
				}
				return a.PrintJSON(result)
			})
		},
	}
}
