package workspaces

// log:verify: verifying logs without a server.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/orchestration"
	"ac/events"
	"ac/internal/terminal"
)

// VerifyRow is a verified log in the JSON output.
type VerifyRow struct {
	Path               string               `json:"path"`
	OK                 bool                 `json:"ok"`
	Events             int64                `json:"events"`
	FirstFaultLine     int64                `json:"first_fault_line,omitempty"`
	FirstFaultOffset   *int64               `json:"first_fault_offset,omitempty"`
	ParseIssues        []events.ParseIssue  `json:"parse_issues,omitempty"`
	VerificationIssues []events.VerifyIssue `json:"verification_issues,omitempty"`
	RecordIssues       []events.VerifyIssue `json:"record_issues,omitempty"`
}

func verifyCommand(a *cli.App) *cobra.Command {
	inWorkspace, asJSON := "", false
	cmd := &cobra.Command{
		Use: "log:verify <file|run|workspace>", Short: "Verify the hash chain of run logs",
		Long: `Verify any events.jsonl, the log of a run, or all logs of a workspace, without a
server. The argument is a file, a run's directory, a workspace, or, with --workspace,
the id of a run. A run's log is also compared with the checkpoint in the run's record,
which detects truncation.

Exit status: 0 if every log is sound, 2 with the position of the first fault of each
faulty log, 1 if something could not be read.`,
		Example: `  ac log:verify ./acme
  ac log:verify ./acme/work/projects/proj_01M7WQGTQHQA1J50C42GD1KN1S/runs/run_01M7WQGTR95SV6EDMA61E1XR8M
  ac log:verify run_01M7WQGTR95SV6EDMA61E1XR8M --workspace ./acme
  ac log:verify events.jsonl --json`,
		Args: cli.Args("file|run|workspace"),
		ValidArgsFunction: func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			if inWorkspace == "" || len(given) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return a.RunIDs(cmd, []string{inWorkspace}), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			rows, err := verify(a, cmd, given[0], inWorkspace)
			if err != nil {
				return err
			}
			return printVerified(a, rows, asJSON)
		},
	}
	cmd.Flags().StringVar(&inWorkspace, "workspace", "", "workspace of the run whose id is the argument")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: a list of logs with their issues")
	return cmd
}

func verify(a *cli.App, cmd *cobra.Command, what, inWorkspace string) (rows []VerifyRow, err error) {
	add := func(v orchestration.VerifiedLog) { rows = append(rows, RowOf(v.Path, v.Report)) }
	all := func(dir, run string) error {
		_, err := cli.Ask(cmd.Context(), a, orchestration.Operations.VerifyLogs, orchestration.VerifyLogsParams{Dir: company.Dir{WorkspaceDir: dir}, RunID: run, Visit: add})
		return err
	}
	if inWorkspace != "" {
		return rows, all(inWorkspace, what)
	}
	st, err := os.Stat(what)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist (if it is the id of a run, add --workspace DIR)", what)
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		report, err := orchestration.VerifyFile(what)
		if err != nil {
			return nil, err
		}
		return []VerifyRow{RowOf(what, report)}, nil
	}
	if log := filepath.Join(what, events.FileName); cli.Exists(log) {
		report, err := orchestration.VerifyFile(log)
		if err != nil {
			return nil, err
		}
		return []VerifyRow{RowOf(log, report)}, nil
	}
	err = all(what, "")
	return rows, err
}

// RowOf returns the row of a verified log.
func RowOf(path string, r *events.Report) VerifyRow {
	issues := slices.Clone(r.ParseIssues)
	for i := range issues {
		issues[i].Raw = beginning(issues[i].Raw)
	}
	row := VerifyRow{
		Path: path, OK: r.Sound(), Events: r.Events, ParseIssues: issues,
		VerificationIssues: r.VerificationIssues, RecordIssues: r.RecordIssues,
	}
	if r.FirstFault >= 0 {
		row.FirstFaultLine, row.FirstFaultOffset = r.FirstLine, &r.FirstFault
	}
	return row
}

// beginning truncates and escapes a line that is not an event, for printing. The line may contain
// anything.
func beginning(raw string) string {
	const most = 80
	if runes := []rune(raw); len(runes) > most {
		raw = string(runes[:most]) + "…"
	}
	return terminal.Quote(raw)
}

func printVerified(a *cli.App, rows []VerifyRow, asJSON bool) error {
	var bad int
	var total int64
	for _, row := range rows {
		total += row.Events
		if !row.OK {
			bad++
		}
		if !asJSON && !row.OK {
			fmt.Fprintf(a.Stdout, "FAULT %s: %s\n", terminal.Quote(row.Path), terminal.Quote(FirstFault(row)))
		}
	}
	if asJSON {
		if rows == nil {
			rows = []VerifyRow{}
		}
		if err := a.PrintJSON(rows); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.Stdout, "%d logs, %d events: %d sound, %d faulty\n", len(rows), total, len(rows)-bad, bad)
	}
	if bad > 0 {
		return cli.ExitError{Code: cli.ExitFindings}
	}
	return nil
}

// FirstFault describes the first fault and its position.
func FirstFault(row VerifyRow) string {
	if row.FirstFaultOffset == nil {
		return fmt.Sprintf("%s: %s", row.RecordIssues[0].Code, row.RecordIssues[0].Message)
	}
	place := fmt.Sprintf("line %d, byte %d", row.FirstFaultLine, *row.FirstFaultOffset)
	if len(row.ParseIssues) > 0 && row.ParseIssues[0].Seq == row.FirstFaultLine {
		return fmt.Sprintf("%s: not JSON: %s", place, row.ParseIssues[0].Error)
	}
	return fmt.Sprintf("%s: %s: %s", place, row.VerificationIssues[0].Code, row.VerificationIssues[0].Message)
}
