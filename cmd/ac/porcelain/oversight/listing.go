package oversight

// Lists of short commands: a table on a terminal, rows with tabs in a pipe, JSON, or ids.

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"ac/cmd/ac/cli"
	"ac/internal/terminal"
)

// listing is what a list command prints.
type listing struct {
	rows  any            // for JSON
	table terminal.Table // for a terminal
	lines [][]string     // for a pipe, the id of each row first
	none  string         // for people, where there is no row
}

// printListing prints a list as the options and stdout ask for it.
func printListing(c *cli.Call, l listing) error {
	switch {
	case c.AsJSON:
		return c.PrintJSON(l.rows)
	case c.Quiet:
		for _, line := range l.lines {
			fmt.Fprintln(c.Stdout, line[0])
		}
		return nil
	case len(l.lines) == 0 && c.OnTerminal():
		c.Note("%s", l.none)
		return nil
	}
	return c.List(l.table, l.lines)
}

// idColumn are the ends of ids that a table shows, in the order of the ids.
func idColumn(ids []string) []terminal.Cell {
	short := cli.Endings(ids)
	column := make([]terminal.Cell, len(ids))
	for i, id := range ids {
		column[i] = terminal.Cell{Text: short[id]}
	}
	return column
}

// sign puts the sign of a state in front of its word.
func sign(text, unicode, ascii string, colour terminal.Colour) terminal.Cell {
	if terminal.Unicode(os.Getenv) {
		return terminal.Cell{Text: unicode + " " + text, Colour: colour}
	}
	return terminal.Cell{Text: ascii + " " + text, Colour: colour}
}

// added prints what a command made.
func added(c *cli.Call, kind, id, name string) error {
	switch {
	case c.AsJSON:
		return c.PrintJSON(map[string]string{kind + "_id": id, "name": name})
	case c.OnTerminal():
		_, err := fmt.Fprintf(c.Stdout, "added %s …%s\n", terminal.Quote(name), cli.ShortID(id))
		return err
	}
	_, err := fmt.Fprintln(c.Stdout, id)
	return err
}

// refuseTaken refuses a name that something of a kind has.
func refuseTaken(c *cli.Call, kind, name string) error {
	known, err := c.Known(kind)
	for _, k := range known {
		if strings.EqualFold(k.Name, name) {
			return fmt.Errorf("%s %s is there already (…%s)", kind, k.Name, cli.ShortID(k.ID))
		}
	}
	return err
}

// count is a number in a cell, unknown for none.
func count(n int) terminal.Cell {
	if n == 0 {
		return terminal.Cell{Text: terminal.Unknown}
	}
	return terminal.Cell{Text: strconv.Itoa(n)}
}
