package oversight

// ac doctor: diagnosing the workspace and this machine.

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/company"
	"ac/company/maintenance"
	"ac/doctor"
	"ac/internal/terminal"
)

// checkRow is a check in the JSON output.
type checkRow struct {
	Check   string   `json:"check"`
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Details []string `json:"details"`
	Fix     *string  `json:"fix"` // what to do
}

// diagnosis is the JSON output of ac doctor.
type diagnosis struct {
	Status string     `json:"status"` // the worst status of all checks
	Checks []checkRow `json:"checks"`

	mends int // number of repairs that --fix would make
}

func healthCommand(a *cli.App) *cobra.Command {
	var o cli.ShortFlags
	fix, everything := false, false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check the workspace and this machine, and repair with --fix", Args: cli.Args(),
		Long: `Check the workspace, and this machine: git, the agent CLIs, the terminal, completion.
Checks that pass are counted, the others are listed with what to do; -v lists all.
Without a workspace only the machine is checked.

--fix first repairs what can be repaired without loss. Exit status: 0 if no check fails,
2 if one does.`,
		Example: "  ac doctor --color never || true\n  ac doctor -v --json || true",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Across(func(all *company.Host) error {
				c, err := a.Begin(cmd.Context(), all, o)
				if errors.Is(err, cli.ErrNoWorkspace) {
					c.Note("%s", err)
				} else if err != nil {
					return err
				}
				return diagnose(c, fix, everything)
			})
		},
	}
	a.Everywhere(cmd, &o)
	cmd.Flags().BoolVar(&fix, "fix", false, "repair what can be repaired without loss")
	cmd.Flags().BoolVarP(&everything, "verbose", "v", false, "list checks that pass, too")
	return cmd
}

// diagnose makes repairs if fix is set, then checks and prints.
func diagnose(c *cli.Call, fix, everything bool) error {
	found := diagnosis{Status: doctor.Pass}
	if c.Dir != "" {
		mended, err := company.Do(c.Ctx, c.All, maintenance.Folder.Mend, maintenance.MendParams{Dir: c.DirParam(), DryRun: !fix})
		if err != nil {
			return err
		}
		if fix && !c.AsJSON && len(mended.Repairs) > 0 {
			if err := workspaces.PrintMended(c.App, mended, false); err != nil {
				return err
			}
		}
		if !fix {
			found.mends = len(mended.Repairs)
		}
		report, err := company.Do(c.Ctx, c.All, maintenance.Folder.Doctor, maintenance.DoctorParams{Dir: c.DirParam()})
		if err != nil {
			return err
		}
		found.add(report.Checks)
	}
	found.add(doctor.ThisMachine(c.Ctx, os.Getenv))
	if c.AsJSON {
		if err := c.PrintJSON(found); err != nil {
			return err
		}
	} else {
		fmt.Fprint(c.Stdout, found.text(everything, c.Colours()))
	}
	if found.Status == doctor.Fail {
		return cli.ExitError{Code: cli.ExitFindings}
	}
	return nil
}

// add adds checks.
func (d *diagnosis) add(checks []doctor.Check) {
	for _, check := range checks {
		row := checkRow{Check: check.ID, Status: check.Status, Message: check.Message, Details: check.Details, Fix: orNull(check.Hint)}
		if row.Details == nil {
			row.Details = []string{}
		}
		d.Checks = append(d.Checks, row)
		if check.Status == doctor.Fail || check.Status == doctor.Warn && d.Status == doctor.Pass {
			d.Status = check.Status
		}
	}
}

// text formats a diagnosis for people.
func (d *diagnosis) text(everything, colour bool) string {
	var b strings.Builder
	passed, count := 0, map[string]int{}
	for _, check := range d.Checks {
		count[check.Status]++
		if passed = count[doctor.Pass]; check.Status == doctor.Pass && !everything {
			continue
		}
		writeCheck(&b, check, colour)
	}
	if !everything && passed > 0 {
		line := fmt.Sprintf("%s  %d checks\n", statusWord(doctor.Pass, colour), passed)
		rest := b.String()
		b.Reset()
		b.WriteString(line + rest)
	}
	if d.Status != doctor.Pass {
		fmt.Fprintf(&b, "%d fail, %d warn", count[doctor.Fail], count[doctor.Warn])
		if d.mends > 0 {
			fmt.Fprintf(&b, "   ac doctor --fix mends %d", d.mends)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeCheck(b *strings.Builder, check checkRow, colour bool) {
	fmt.Fprintf(b, "%s  %-21s  %s\n", statusWord(check.Status, colour), check.Check, terminal.Quote(check.Message))
	if check.Status == doctor.Pass {
		return
	}
	for _, line := range check.Details {
		fmt.Fprintf(b, "         %s\n", terminal.Quote(line))
	}
	if check.Fix != nil {
		fmt.Fprintf(b, "       > %s\n", terminal.Quote(*check.Fix))
	}
}

// statusWord returns the status of a check, padded to five letters.
func statusWord(status string, colour bool) string {
	word, paint := "ok", terminal.Green
	switch status {
	case doctor.Warn:
		word, paint = "warn", terminal.Yellow
	case doctor.Fail:
		word, paint = "fail", terminal.Red
	}
	word = fmt.Sprintf("%-5s", word)
	if colour {
		return paint.Paint(word)
	}
	return word
}
