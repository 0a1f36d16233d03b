package cli

// Results by id, for commands that take several ids.

import (
	"errors"
	"fmt"
	"strings"
)

// DoneRow is the result for one id of a command that takes several.
type DoneRow struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`
	OK     bool    `json:"ok"`
	Result any     `json:"result"`
	Error  *string `json:"error"`
	Text   string  `json:"-"` // the message for people
	wrong  bool    // a usage error
}

// FailedRow returns the row of an id for which the command failed.
func FailedRow(id, kind string, err error) DoneRow {
	message := OneLine(err.Error())
	if choice, ok := errors.AsType[ChoiceError](err); ok {
		message = strings.Join(append([]string{choice.Message}, choice.Lines...), "\n  ")
	}
	_, wrong := errors.AsType[UsageError](err)
	return DoneRow{ID: id, Kind: kind, Error: &message, wrong: wrong}
}

// PrintDone prints the result for each id. It returns an error if any of them failed.
func (c *Call) PrintDone(done []DoneRow) error {
	failed := false
	for _, d := range done {
		failed = failed || !d.OK
		switch {
		case d.OK && !c.AsJSON:
			fmt.Fprintln(c.Stdout, d.Text)
		case !d.OK && !c.AsJSON:
			for i, line := range strings.Split(*d.Error, "\n") {
				switch {
				case i == 0 && d.wrong:
					line = "error: " + line
				case i == 0:
					line = "ERROR: " + line
				}
				fmt.Fprintln(c.Stderr, line)
			}
		}
	}
	if c.AsJSON {
		if err := c.PrintJSON(done); err != nil {
			return err
		}
	}
	if failed {
		return ExitError{ExitFailure}
	}
	return nil
}
