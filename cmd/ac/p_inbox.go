package main

// ac inbox: what waits for somebody's word.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/decisions"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/terminal"
)

// inboxRow is a need in a list for people.
type inboxRow struct {
	ID        string  `json:"id"` // what it is about
	NeedID    string  `json:"need_id"`
	Kind      string  `json:"kind"`
	Title     string  `json:"title"`
	FromID    *string `json:"from_id"`
	From      *string `json:"from"` // the name of an agent
	RunID     *string `json:"run_id"`
	ProjectID *string `json:"project_id"`
	At        string  `json:"at"`
	ExpiresAt *string `json:"expires_at"`
}

// mostInbox bounds the list of needs.
const mostInbox = 1000

func inboxCommand(a *app) *cobra.Command {
	everything := false
	cmd := &cobra.Command{
		Use: "inbox", Short: "List what waits for your word", Args: args(),
		Long: `List what waits for somebody's word, the most urgent first: requests of agents, help
requests, milestones, changes of memories, actions and files. With -a also what went
wrong: runs that failed or went over a budget, and damaged logs.`,
		Example: "  ac inbox\n  ac inbox -a --json",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		kinds := needs.Words()
		if everything {
			kinds = needs.Kinds()
		}
		rows, total, err := c.inbox(kinds, mostInbox)
		if err != nil {
			return err
		}
		return c.printInbox(rows, total)
	})
	cmd.Flags().BoolVarP(&everything, "all", "a", false, "also runs that failed, and damaged logs")
	return cmd
}

// inbox lists needs of some kinds of the project, of all projects without one.
func (c *call) inbox(kinds []string, most int) (rows []inboxRow, total int, err error) {
	found, err := company.Do(c.ctx, c.all, decisions.Operations.ListNeeds, decisions.ListNeedsParams{
		Dir: c.dirParam(), ProjectID: c.project, Kinds: kinds, State: "open", Limit: most,
	})
	if err != nil {
		return nil, 0, err
	}
	rows, err = c.inboxRows(found.Needs)
	return rows, found.Total, err
}

// inboxRows are needs as rows, with the names of those who ask.
func (c *call) inboxRows(list []needs.Need) ([]inboxRow, error) {
	rows := make([]inboxRow, len(list))
	if len(list) == 0 {
		return rows, nil
	}
	names, err := c.agentNames()
	for i, n := range list {
		rows[i] = inboxRow{
			ID: n.Ref(), NeedID: n.NeedID, Kind: n.Kind, Title: n.Title, FromID: orNull(n.Who), From: orNull(names[n.Who]),
			RunID: orNull(n.RunID), ProjectID: orNull(n.ProjectID), At: n.At, ExpiresAt: orNull(n.ExpiresAt),
		}
	}
	return rows, err
}

func (c *call) printInbox(rows []inboxRow, total int) error {
	switch {
	case c.asJSON:
		return c.printJSON(rows)
	case c.quiet:
		for i := range rows {
			fmt.Fprintln(c.stdout, rows[i].ID)
		}
		return nil
	case len(rows) == 0:
		c.note("Nothing needs you.")
		return nil
	}
	if err := c.list(c.inboxTable(rows), inboxLines(rows)); err != nil {
		return err
	}
	if more := total - len(rows); more > 0 && c.onTerminal() {
		c.note("… %s more", terminal.Grouped(more))
	}
	return nil
}

// from is who asks: the agent, with the end of its run where it waits for the answer.
func (r *inboxRow) from() string {
	name := cmp.Or(orEmpty(r.From), orEmpty(r.FromID), terminal.Unknown)
	if r.RunID != nil && slices.Contains([]string{needs.Permission, needs.Question, needs.Plan, needs.Input, needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog}, r.Kind) {
		return terminal.Fit(name, min(terminal.Columns(name), mostFrom-shownEnding-1)) + " " + shortID(*r.RunID)
	}
	return name
}

// mostFrom bounds the column of who asks.
const mostFrom = 14

// inboxTable is a list of needs for a terminal.
func (c *call) inboxTable(rows []inboxRow) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "ID"}, {Title: "KIND"}, {Title: "FROM", Most: mostFrom, Drop: 3}, {Title: "TITLE", Text: true}, {Title: "AGE", Right: true, Drop: 1},
	}}
	severalProjects := c.project == ""
	if severalProjects {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", Most: 14, Drop: 2})
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	short := endings(ids)
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(r.At)
		row := []terminal.Cell{
			{Text: short[r.ID], Link: c.needLink(r)}, {Text: r.Kind, Colour: kindColour(r.Kind)}, {Text: r.from()}, {Text: cmp.Or(r.Title, terminal.Unknown)}, {Text: terminal.Age(at, c.now)},
		}
		if severalProjects {
			row = append(row, terminal.Cell{Text: cmp.Or(c.projectNamed(orEmpty(r.ProjectID)), terminal.Unknown)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// kindColour marks agents that wait, and what failed.
func kindColour(kind string) terminal.Colour {
	switch kind {
	case needs.Permission, needs.Question, needs.Plan, needs.Input:
		return terminal.BoldYellow
	case needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog:
		return terminal.Red
	}
	return terminal.None
}

// inboxLines are the rows for a pipe.
func inboxLines(rows []inboxRow) [][]string {
	lines := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		lines[i] = []string{r.ID, r.Kind, cmp.Or(orEmpty(r.From), orEmpty(r.FromID)), r.Title, orEmpty(r.ProjectID), r.At}
	}
	return lines
}
