package main

// ac ps: the runs of a project, and the words and signs that lists have for their states.

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// psRows is how many rows ps shows where nobody asks for more.
const psRows = 20

func psCommand(a *app) *cobra.Command {
	var p company.RunRowsParams
	var agent, since string
	everything := false
	cmd := &cobra.Command{
		Use: "ps", Short: "List runs: what they do, for how long, and what they cost", Args: args(),
		Long: `List the runs of the project, or of all projects where none is chosen: those that live
first, then the new ones, then the newest, 20 in all. In a pipe: the same rows with tabs
in between, full ids, and no titles.`,
		Example: "  ac ps\n  ac ps --live\n  ac ps -a --status failed --since 24h --json",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		p.Dir, p.ProjectID = c.dirParam(), c.project
		if everything {
			p.Most = 0
		}
		if p.Most < 0 {
			return usageError{"-n must not be negative"}
		}
		if since != "" {
			ago, err := parseAgo(since)
			if err != nil {
				return err
			}
			p.Since = c.now.Add(-ago)
		}
		if agent != "" {
			found, err := c.agent(agent)
			if err != nil {
				return err
			}
			p.AgentID = found.id
		}
		list, err := company.Do(c.ctx, c.all, (*company.Company).RunRows, p)
		if err != nil {
			return err
		}
		return c.printRuns(list)
	})
	flags := cmd.Flags()
	flags.BoolVarP(&everything, "all", "a", false, "all runs")
	flags.IntVarP(&p.Most, "rows", "n", psRows, "how many rows at most")
	flags.BoolVar(&p.Live, "live", false, "only runs that live")
	flags.StringVar(&p.State, "status", "", "only runs in this state, such as failed, done, or \"asks you\"")
	flags.StringVar(&agent, "agent", "", "only runs of this agent")
	flags.StringVar(&since, "since", "", "only runs made since then: 30m, 2h, 7d")
	return cmd
}

// parseAgo reads a duration; days and weeks are allowed, too.
func parseAgo(text string) (time.Duration, error) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, err := strconv.ParseUint(strings.TrimSuffix(text, unit), 10, 16); err == nil && strings.HasSuffix(text, unit) {
			return time.Duration(n) * length, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usageError{fmt.Sprintf("--since must be a duration such as 30m, 2h or 7d, not %q", text)}
	}
	return d, nil
}

func (c *call) printRuns(list company.RunRows) error {
	switch {
	case c.asJSON:
		return c.printJSON(list.Rows)
	case c.quiet:
		for _, r := range list.Rows {
			fmt.Fprintln(c.stdout, r.RunID)
		}
		return nil
	case list.None && c.onTerminal():
		c.note("No runs yet: ac run -- make test")
		return nil
	case len(list.Rows) == 0 && c.onTerminal():
		c.note("No run fits.")
		return nil
	}
	if err := c.list(c.runTable(list, terminal.Unicode(os.Getenv)), c.runLines(list.Rows)); err != nil {
		return err
	}
	if list.More > 0 && c.onTerminal() {
		c.note("… %s more: ac ps -a", terminal.Grouped(list.More))
	}
	return nil
}

// runTable is a list of runs for a terminal. unicode is whether it shows more than ASCII.
func (c *call) runTable(list company.RunRows, unicode bool) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "RUN"}, {Title: "STATE"}, {Title: "AGENT", Most: 14, Drop: 6}, {Title: "WHAT", Text: true}, {Title: "AGE", Right: true, Drop: 4},
		{Title: "TOOK", Right: true, Drop: 2}, {Title: "TOKENS", Right: true, Drop: 1}, {Title: "COST", Right: true, Drop: 3},
	}}
	severalProjects := c.project == ""
	if severalProjects {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", Most: 14, Drop: 5})
	}
	short := endings(list.IDs)
	for i := range list.Rows {
		r := &list.Rows[i]
		sign, colour := stateSign(r, unicode)
		created, _ := clock.Parse(orEmpty(r.CreatedAt))
		row := []terminal.Cell{
			{Text: short[r.RunID], Link: c.runLink(r.ProjectID, r.RunID)}, {Text: sign + " " + r.State, Colour: colour}, {Text: orUnknown(r.Agent, r.AgentID)}, {Text: orUnknown(r.What, "")},
			{Text: terminal.Age(created, c.now)}, {Text: took(r)}, {Text: tokens(r)}, {Text: terminal.Cost(r.CostUSD)},
		}
		if severalProjects {
			row = append(row, terminal.Cell{Text: c.projectNamed(r.ProjectID)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// runLines are the rows of a list of runs for a pipe.
func (c *call) runLines(rows []company.RunRow) [][]string {
	lines := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		line := []string{r.RunID, r.State, orUnknown(r.Agent, r.AgentID), orUnknown(r.What, ""), orEmpty(r.CreatedAt), "", "", "", r.ProjectID}
		if r.TookS != nil {
			line[5] = strconv.FormatFloat(*r.TookS, 'f', -1, 64)
		}
		if r.Tokens != nil {
			line[6] = strconv.FormatInt(*r.Tokens, 10)
		}
		if r.CostUSD != nil {
			line[7] = strconv.FormatFloat(*r.CostUSD, 'f', -1, 64)
		}
		lines[i] = line
	}
	return lines
}

// orEmpty is a text, "" where it is missing.
func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// orUnknown is a text, else another one, else the mark for what is not known.
func orUnknown(text *string, other string) string {
	if text != nil {
		return *text
	}
	if other == "" {
		return terminal.Unknown
	}
	return other
}

// took is how long a run took.
func took(r *company.RunRow) string {
	if r.TookS == nil {
		return terminal.Unknown
	}
	return terminal.Took(time.Duration(*r.TookS * float64(time.Second)))
}

// tokens marks estimates with a tilde.
func tokens(r *company.RunRow) string {
	switch {
	case r.Tokens == nil:
		return terminal.Unknown
	case r.TokensEstimated:
		return "~" + terminal.Tokens(*r.Tokens)
	}
	return terminal.Tokens(*r.Tokens)
}

// projectNamed is the name of a project, its id where that is not known.
func (c *call) projectNamed(id string) string {
	for _, p := range c.projects {
		if p.id == id {
			return p.name
		}
	}
	return id
}

// stateSign is the sign and the colour of a run's state. The word alone says it, too.
func stateSign(r *company.RunRow, unicode bool) (string, terminal.Colour) {
	pick := func(sign, plain string, colour terminal.Colour) (string, terminal.Colour) {
		if unicode {
			return sign, colour
		}
		return plain, colour
	}
	switch {
	case r.State == company.StateNew:
		return pick("○", "o", terminal.Dim)
	case r.State == company.StateRunning:
		return pick("●", "*", terminal.Cyan)
	case r.State == company.StateAsks:
		return pick("▲", "!", terminal.BoldYellow)
	case r.State == company.StateIdle:
		return pick("◦", "-", terminal.Cyan)
	case r.Status == doc.StatusEnded:
		return pick("✓", "+", terminal.Green)
	case r.Status == doc.StatusStopped:
		return pick("■", "#", terminal.Yellow)
	}
	return pick("✗", "x", terminal.Red)
}
