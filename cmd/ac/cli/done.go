package cli

// What came of each id of a command that takes several.

import (
	"errors"
	"fmt"
	"strings"
)

// DoneRow is what came of one id of a command that takes several.
type DoneRow struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`
	OK     bool    `json:"ok"`
	Result any     `json:"result"`
	Error  *string `json:"error"`
	Text   string  `json:"-"` // what people read
	wrong  bool    // it was asked for in a wrong way
}

// FailedRow is an id that nothing was done with.
func FailedRow(id, kind string, err error) DoneRow {
	message := OneLine(err.Error())
	if choice, ok := errors.AsType[ChoiceError](err); ok {
		message = strings.Join(append([]string{choice.Message}, choice.Lines...), "\n  ")
	}
	_, wrong := errors.AsType[UsageError](err)
	return DoneRow{ID: id, Kind: kind, Error: &message, wrong: wrong}
}

// PrintDone prints what came of each id. It fails if anything did.
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
