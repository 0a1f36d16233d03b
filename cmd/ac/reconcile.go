package main

// usage:reconcile:*, and system:capabilities.

import (
	"github.com/spf13/cobra"

	"ac/company"
	"ac/rpc"
)

func reconcileRecordCommand(a *app) *cobra.Command {
	var p company.RecordStatementParams
	var tokens int64
	cmd := &cobra.Command{
		Use: "usage:reconcile:record <dir>", Short: "Keep what a provider billed", Args: args("dir"),
		Long: `Keep one line of a provider's bill, to be held against what the runs say that they
cost. A statement with the id of an earlier one replaces it.`,
		Example: "  ac usage:reconcile:record ./acme --provider codex --period-start 2026-11-01 --period-end 2026-11-30 --billed-cost-usd 41.5 --statement-id inv-7",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "provider", "period-start", "period-end"); err != nil {
				return err
			}
			if !cmd.Flag("billed-cost-usd").Changed {
				return usageError{"required option --billed-cost-usd is missing"}
			}
			if cmd.Flag("billed-tokens").Changed {
				p.BilledTokens = &tokens
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).RecordStatement, p)
		},
	}
	cmd.Flags().StringVar(&p.Provider, "provider", "", "who billed it (required)")
	cmd.Flags().StringVar(&p.PeriodStart, "period-start", "", "first day, or a timestamp (required)")
	cmd.Flags().StringVar(&p.PeriodEnd, "period-end", "", "last day, or a timestamp (required)")
	cmd.Flags().Float64Var(&p.BilledCostUSD, "billed-cost-usd", 0, "what was billed, in US dollars (required)")
	cmd.Flags().Int64Var(&tokens, "billed-tokens", 0, "for how many tokens")
	cmd.Flags().StringVar(&p.StatementID, "statement-id", "", "id of the statement; made when not given")
	cmd.Flags().StringVar(&p.Source, "source", "manual", "manual or api")
	cmd.Flags().StringVar(&p.ExternalRef, "external-ref", "", "what the provider calls it")
	cmd.Flags().StringVar(&p.Notes, "notes", "", "anything else")
	completeFlag(cmd, "source", words("manual", "api"))
	return cmd
}

func reconcileSnapshotCommand(a *app) *cobra.Command {
	var p company.ReconciliationParams
	cmd := &cobra.Command{
		Use: "usage:reconcile:snapshot <dir>", Short: "Compare what the providers billed with what the runs say", Args: args("dir"),
		Long:    "Compare the bills with the runs, in sum, by provider and by statement. Bills know no projects: --project narrows the runs only.",
		Example: "  ac usage:reconcile:snapshot ./acme --period-start 2026-11-01 --period-end 2026-11-30",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).Reconciliation, p)
		},
	}
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "only the runs of this project")
	cmd.Flags().StringVar(&p.PeriodStart, "period-start", "", "from this day or timestamp on")
	cmd.Flags().StringVar(&p.PeriodEnd, "period-end", "", "up to the end of this day, or to this timestamp")
	completeFlag(cmd, "project", a.projectIDs)
	return cmd
}

func capabilitiesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "system:capabilities", Short: "Show the methods and limits of this program", Args: args(),
		Long:    "Show what the server answers to system.capabilities.",
		Example: "  ac system:capabilities",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.across(func(all *company.Host) error {
				result, err := rpc.NewTable(buildVersion()).Call(cmd.Context(), all, "system.capabilities", nil)
				if err != nil {
					return err
				}
				return a.printJSON(result)
			})
		},
	}
}
