package workspaces

// workspace:doctor and workspace:diagnostics.

import (
	"fmt"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/maintenance"
	"ac/doctor"
	"ac/internal/terminal"
)

func doctorCommand(a *cli.App) *cobra.Command {
	var p maintenance.DoctorParams
	var fix, dryRun, asText, asJSON bool
	cmd := &cobra.Command{
		Use: "workspace:doctor <dir>", Short: "Diagnose a workspace, and repair it with --fix", Args: cli.Args("dir"),
		Long: `Check a workspace: its documents, this machine's configuration, agent CLIs and
repositories, the index, worktrees, locks, sessions and the hash chains of all logs.
The report is JSON; --text prints it for people. Exit status: 0 if no check fails,
2 if one does.

--fix repairs what can be repaired without loss and prints each repair: missing
directories, lock files and temporary files of dead processes, interrupted writes
(one that can never be finished is set aside with its reason), orphaned sessions,
torn tails of logs (a copy is kept), an unreadable index. It is idempotent.
--dry-run prints what --fix would do and changes nothing.`,
		Example: `  ac workspace:doctor ./acme --text
  ac workspace:doctor ./acme --sync-index
  ac workspace:doctor ./acme --fix --dry-run
  ac workspace:doctor ./acme --fix`,
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir = given[0]
			if dryRun && !fix {
				return cli.UsageError{Message: "--dry-run needs --fix"}
			}
			if fix && (p.RebuildIndex || p.SyncIndex) {
				return cli.UsageError{Message: "--fix cannot be combined with --rebuild-index or --sync-index"}
			}
			if fix {
				mended, err := cli.Ask(cmd.Context(), a, maintenance.Folder.Mend, maintenance.MendParams{Dir: p.Dir, DryRun: dryRun})
				if err != nil {
					return err
				}
				return PrintMended(a, mended, asJSON)
			}
			report, err := cli.Ask(cmd.Context(), a, maintenance.Folder.Doctor, p)
			if err != nil {
				return err
			}
			return printReport(a, report, asText)
		},
	}
	cmd.Flags().BoolVar(&p.RebuildIndex, "rebuild-index", false, "rebuild the index")
	cmd.Flags().BoolVar(&p.SyncIndex, "sync-index", false, "sync the index")
	cmd.Flags().BoolVar(&fix, "fix", false, "repair what can be repaired without loss")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "with --fix: print what would be done and change nothing")
	cmd.Flags().BoolVar(&asText, "text", false, "print the report for people")
	cmd.Flags().BoolVar(&asJSON, "json", false, "with --fix: print JSON; the report is JSON without it")
	cmd.MarkFlagsMutuallyExclusive("text", "json")
	return cmd
}

func printReport(a *cli.App, report doctor.Report, asText bool) error {
	if !asText {
		if err := a.PrintJSON(report); err != nil {
			return err
		}
	} else {
		for _, c := range report.Checks {
			fmt.Fprintf(a.Stdout, "%-4s  %-21s  %s\n", c.Status, c.ID, terminal.Quote(c.Message))
			if c.Status == doctor.Pass {
				continue
			}
			for _, line := range c.Details {
				fmt.Fprintf(a.Stdout, "        %s\n", terminal.Quote(line))
			}
			if c.Hint != "" {
				fmt.Fprintf(a.Stdout, "      > %s\n", terminal.Quote(c.Hint))
			}
		}
		s := report.Summary
		fmt.Fprintf(a.Stdout, "%d passed, %d warned, %d failed\n", s.Pass, s.Warn, s.Fail)
	}
	if !report.OK {
		return cli.ExitError{Code: cli.ExitFindings}
	}
	return nil
}

// PrintMended prints what a repair did.
func PrintMended(a *cli.App, m doctor.RepairResult, asJSON bool) error {
	if asJSON {
		if err := a.PrintJSON(m); err != nil {
			return err
		}
	} else {
		for _, mend := range m.Repairs {
			fmt.Fprintf(a.Stdout, "%s: %s: %s\n", mend.Outcome, terminal.Quote(mend.Path), terminal.Quote(mend.What))
			for _, line := range mend.Details {
				fmt.Fprintf(a.Stdout, "        %s\n", terminal.Quote(line))
			}
		}
		if len(m.Repairs) == 0 {
			fmt.Fprintln(a.Stdout, "Nothing to mend.")
		}
	}
	if !m.OK {
		return cli.ExitError{Code: cli.ExitFindings}
	}
	return nil
}

func diagnosticsCommand(a *cli.App) *cobra.Command {
	var p maintenance.DiagnosticsParams
	var noSync bool
	limits := []struct {
		name  string
		value *int
	}{{"monitor-limit", &p.MonitorLimit}, {"pending-limit", &p.PendingLimit}, {"decisions-limit", &p.DecisionsLimit}}
	cmd := &cobra.Command{
		Use: "workspace:diagnostics <dir> <out>", Short: "Write a diagnostics bundle without secrets", Args: cli.Args("dir", "out"),
		Long: `Create a directory of JSON files below <out> with the state of a workspace, to be
shared: the doctor's report, agent CLIs, sessions and snapshots.
Secrets are removed from every file; review it nevertheless before you hand it on.
A bundle with a manifest.json is complete.`,
		Example: "  ac workspace:diagnostics ./acme ./diagnostics",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.OutDir, p.SyncIndex = given[0], given[1], !noSync
			return cli.PrintJSON(cmd.Context(), a, maintenance.Folder.Diagnostics, p)
		},
	}
	cmd.Flags().BoolVar(&p.RebuildIndex, "rebuild-index", false, "rebuild the index first")
	cmd.Flags().BoolVar(&noSync, "no-sync-index", false, "do not sync the index first")
	for _, limit := range limits {
		cmd.Flags().IntVar(limit.value, limit.name, 200, "maximum number of rows in each list")
	}
	return cmd
}
