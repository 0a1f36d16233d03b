package main

// ac verify: the logs against their hash chains, and against what was sealed.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"ac/audit"
	"ac/company"
	"ac/company/maintenance"
	"ac/company/orchestration"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// verification is the JSON output of ac verify.
type verification struct {
	OK     bool          `json:"ok"`
	Logs   int           `json:"logs"`
	Events int64         `json:"events"`
	Faults []verifyRow   `json:"faults"`
	Seal   *audit.Report `json:"seal"` // null where nothing was sealed, or one log was asked for
}

func proveCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "verify [run|file]", Short: "Verify that no log was changed", Args: cobra.MaximumNArgs(1),
		Long: `Verify the hash chains of all logs of the workspace, and what was sealed of them. With a
run or a file, only that log.

Exit status: 0 if everything is sound, 2 with the place of each fault.`,
		Example: "  ac verify\n  ac verify 4WKKE6\n  ac verify --json",
	}
	a.short(cmd, func(c *call, given []string) error {
		v, err := c.verified(given)
		if err != nil {
			return err
		}
		if c.asJSON {
			err = c.printJSON(v)
		} else {
			c.printVerification(&v)
		}
		if err == nil && !v.OK {
			err = exitError{exitFindings}
		}
		return err
	})
	return cmd
}

// verified verifies what is asked for.
func (c *call) verified(given []string) (v verification, err error) {
	v.Faults = []verifyRow{}
	progress := c.progress("verifying")
	defer progress.End()
	add := func(l orchestration.VerifiedLog) {
		row := rowOf(l.Path, l.Report)
		v.Logs, v.Events = v.Logs+1, v.Events+row.Events
		if progress.Count(v.Logs, 0, "logs"); !row.OK {
			v.Faults = append(v.Faults, row)
		}
	}
	p := orchestration.VerifyLogsParams{Dir: c.dirParam(), Visit: add}
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
		row, err := c.run(given[0])
		if err != nil {
			return v, err
		}
		p.RunID = row.RunID
	}
	if _, err := company.Do(c.ctx, c.all, orchestration.Operations.VerifyLogs, p); err != nil {
		return v, err
	}
	v.OK = len(v.Faults) == 0
	if p.RunID != "" {
		return v, nil
	}
	seal, err := company.Do(c.ctx, c.all, maintenance.Operations.VerifyAudit, maintenance.VerifyAuditParams{Dir: c.dirParam()})
	if fault.Is(err, fault.NotFound) {
		return v, nil // nothing was sealed
	}
	if err == nil && (seal.Newest != nil || !seal.OK) {
		v.Seal, v.OK = &seal, v.OK && seal.OK
	}
	return v, err
}

// printVerification prints what was verified for people.
func (c *call) printVerification(v *verification) {
	word := func(ok bool) string {
		if ok {
			return "ok   "
		}
		return "fail "
	}
	for _, row := range v.Faults {
		fmt.Fprintf(c.stdout, "FAULT %s: %s\n", terminal.Quote(row.Path), terminal.Quote(firstFault(row)))
	}
	sound := "all sound"
	if n := len(v.Faults); n > 0 {
		sound = fmt.Sprintf("%d faulty", n)
	}
	fmt.Fprintf(c.stdout, "%s  %s, %s, %s\n", word(len(v.Faults) == 0), counted(v.Logs, "log"), counted(int(v.Events), "event"), sound)
	if v.Seal == nil {
		return
	}
	for _, f := range v.Seal.Findings {
		fmt.Fprintf(c.stdout, "%s  %s: %s\n", f.Code, terminal.Quote(f.Log+f.File), terminal.Quote(f.Message))
	}
	newer, text := 0, "not as sealed"
	for _, log := range v.Seal.Logs {
		if log.Bytes > log.SealedBytes {
			newer++
		}
	}
	if v.Seal.OK {
		at, _ := clock.Parse(v.Seal.Newest.SealedAt)
		text = "sealed " + ago(terminal.Age(at, c.now))
	}
	if newer > 0 {
		text += fmt.Sprintf("; %s newer than the seal (ac audit:seal)", are(counted(newer, "log"), newer))
	}
	fmt.Fprintf(c.stdout, "%s  %s\n", word(v.Seal.OK), text)
}

// counted is a number of things: 1 log, 1,214 logs.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return terminal.Grouped(n) + " " + thing
}

// are puts the verb behind a number of things.
func are(things string, n int) string {
	if n == 1 {
		return things + " is"
	}
	return things + " are"
}

// ago is an age in a sentence.
func ago(age string) string {
	if age == "now" {
		return "now"
	}
	return age + " ago"
}
