package oversight

// Output of list commands: a table on a terminal, tab-separated rows in a pipe, JSON, or ids.

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"ac/cmd/ac/cli"
	"ac/internal/terminal"
)

// listing is the content of a list in all its formats.
type listing struct {
	rows  any            // for JSON
	table terminal.Table // for a terminal
	lines [][]string     // for a pipe, the id of each row first
	none  string         // note for people if the list is empty
}

// printListing prints a list in the format that the options and stdout require.
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

// idColumn returns the displayed suffixes of ids, in the order of the ids.
func idColumn(ids []string) []terminal.Cell {
	short := cli.Endings(ids)
	column := make([]terminal.Cell, len(ids))
	for i, id := range ids {
		column[i] = terminal.Cell{Text: short[id]}
	}
	return column
}

// sign returns a cell with the sign of a state before its word.
func sign(text, unicode, ascii string, colour terminal.Colour) terminal.Cell {
	if terminal.Unicode(os.Getenv) {
		return terminal.Cell{Text: unicode + " " + text, Colour: colour}
	}
	return terminal.Cell{Text: ascii + " " + text, Colour: colour}
}

// added prints what a command created.
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

// refuseTaken returns an error if something of the kind already has the name.
func refuseTaken(c *cli.Call, kind, name string) error {
	known, err := c.Known(kind)
	for _, k := range known {
		if strings.EqualFold(k.Name, name) {
			return fmt.Errorf("%s %s is there already (…%s)", kind, k.Name, cli.ShortID(k.ID))
		}
	}
	return err
}

// count returns a cell with a number, or with the mark for unknown values if it is 0.
func count(n int) terminal.Cell {
	if n == 0 {
		return terminal.Cell{Text: terminal.Unknown}
	}
	return terminal.Cell{Text: strconv.Itoa(n)}
}
