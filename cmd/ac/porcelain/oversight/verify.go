package oversight

// ac verify: verifying logs against their hash chains and their seals.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"ac/audit"
	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/company"
	"ac/company/maintenance"
	"ac/company/orchestration"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// verification is the JSON output of ac verify.
type verification struct {
	OK     bool                   `json:"ok"`
	Logs   int                    `json:"logs"`
	Events int64                  `json:"events"`
	Faults []workspaces.VerifyRow `json:"faults"`
	Seal   *audit.Report          `json:"seal"` // null if nothing was sealed, or if one log was requested
}

func proveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify [run|file]", Short: "Verify that no log was changed", Args: cobra.MaximumNArgs(1),
		Long: `Verify the hash chains of all logs of the workspace, and what was sealed of them. With a
run or a file, only that log.

Exit status: 0 if everything is sound, 2 with the place of each fault.`,
		Example: "  ac verify\n  ac verify 4WKKE6\n  ac verify --json",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		v, err := verifyLogs(c, given)
		if err != nil {
			return err
		}
		if c.AsJSON {
			err = c.PrintJSON(v)
		} else {
			printVerification(c, &v)
		}
		if err == nil && !v.OK {
			err = cli.ExitError{Code: cli.ExitFindings}
		}
		return err
	})
	return cmd
}

// verifyLogs verifies the requested logs.
func verifyLogs(c *cli.Call, given []string) (v verification, err error) {
	v.Faults = []workspaces.VerifyRow{}
	progress := c.Progress("verifying")
	defer progress.End()
	add := func(l orchestration.VerifiedLog) {
		row := workspaces.RowOf(l.Path, l.Report)
		v.Logs, v.Events = v.Logs+1, v.Events+row.Events
		if progress.Count(v.Logs, 0, "logs"); !row.OK {
			v.Faults = append(v.Faults, row)
		}
	}
	p := orchestration.VerifyLogsParams{Dir: c.DirParam(), Visit: add}
	if len(given) > 0 {
		switch _, err := os.Stat(given[0]); {
		case err == nil:
			report, err := orchestration.VerifyFile(given[0])
			if err == nil {
				add(orchestration.VerifiedLog{Path: given[0], Report: report})
			}
			v.OK = len(v.Faults) == 0
			return v, err
		case !errors.Is(err, fs.ErrNotExist):
			return v, err
		}
		row, err := c.Run(given[0])
		if err != nil {
			return v, err
		}
		p.RunID = row.RunID
	}
	if _, err := company.Do(c.Ctx, c.All, orchestration.Operations.VerifyLogs, p); err != nil {
		return v, err
	}
	v.OK = len(v.Faults) == 0
	if p.RunID != "" {
		return v, nil
	}
	seal, err := company.Do(c.Ctx, c.All, maintenance.Operations.VerifyAudit, maintenance.VerifyAuditParams{Dir: c.DirParam()})
	if fault.Is(err, fault.NotFound) {
		return v, nil // nothing was sealed
	}
	if err == nil && (seal.Newest != nil || !seal.OK) {
		v.Seal, v.OK = &seal, v.OK && seal.OK
	}
	return v, err
}

// printVerification prints the result for people.
func printVerification(c *cli.Call, v *verification) {
	word := func(ok bool) string {
		if ok {
			return "ok   "
		}
		return "fail "
	}
	for _, row := range v.Faults {
		fmt.Fprintf(c.Stdout, "FAULT %s: %s\n", terminal.Quote(row.Path), terminal.Quote(workspaces.FirstFault(row)))
	}
	sound := "all sound"
	if n := len(v.Faults); n > 0 {
		sound = fmt.Sprintf("%d faulty", n)
	}
	fmt.Fprintf(c.Stdout, "%s  %s, %s, %s\n", word(len(v.Faults) == 0), terminal.FormatCount(v.Logs, "log"), terminal.FormatCount(int(v.Events), "event"), sound)
	if v.Seal == nil {
		return
	}
	for _, f := range v.Seal.Findings {
		fmt.Fprintf(c.Stdout, "%s  %s: %s\n", f.Code, terminal.Quote(f.Log+f.File), terminal.Quote(f.Message))
	}
	newer, text := 0, "not as sealed"
	for _, log := range v.Seal.Logs {
		if log.Bytes > log.SealedBytes {
			newer++
		}
	}
	if v.Seal.OK {
		at, _ := clock.Parse(v.Seal.Newest.SealedAt)
		text = "sealed " + ago(terminal.FormatAge(at, c.Now))
	}
	if newer > 0 {
		text += fmt.Sprintf("; %s newer than the seal (ac audit:seal)", withVerb(terminal.FormatCount(newer, "log"), newer))
	}
	fmt.Fprintf(c.Stdout, "%s  %s\n", word(v.Seal.OK), text)
}

// withVerb appends "is" or "are" to a number of things.
func withVerb(things string, n int) string {
	if n == 1 {
		return things + " is"
	}
	return things + " are"
}

// ago formats an age for a sentence.
func ago(age string) string {
	if age == "now" {
		return "now"
	}
	return age + " ago"
}
