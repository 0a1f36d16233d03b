package oversight

// ac inbox: the list of what waits for a person.

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/governance/needs"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace"
)

// needLink returns the URL of a need's subject: an artifact, a help request, or a run.
func needLink(c *cli.Call, r *inboxRow) string {
	switch project := cli.OrEmpty(r.ProjectID); r.Kind {
	case needs.Memory, needs.Milestone, needs.Action, needs.Files:
		return c.FileLink(c.InDir(workspace.ArtifactsDir(project) + "/" + r.ID + ".md"))
	case needs.Help:
		return c.FileLink(c.InDir(workspace.HelpRequestsDir + "/" + r.ID + ".md"))
	default:
		if r.RunID == nil {
			return ""
		}
		return c.RunLink(project, *r.RunID)
	}
}

// inboxRow is a need in a list for people.
type inboxRow struct {
	ID        string  `json:"id"` // the id of its subject
	NeedID    string  `json:"need_id"`
	Kind      string  `json:"kind"`
	Title     string  `json:"title"`
	FromID    *string `json:"from_id"`
	From      *string `json:"from"` // the agent's name
	RunID     *string `json:"run_id"`
	ProjectID *string `json:"project_id"`
	At        string  `json:"at"`
	ExpiresAt *string `json:"expires_at"`
}

func inboxCommand(a *cli.App) *cobra.Command {
	everything := false
	cmd := &cobra.Command{
		Use: "inbox", Short: "List what waits for your word", Args: cli.Args(),
		Long: `List what waits for somebody's word, the most urgent first: requests of agents, help
requests, milestones, changes of memories, actions and files. With -a also what went
wrong: runs that failed or went over a budget, and damaged logs.`,
		Example: "  ac inbox\n  ac inbox -a --json",
	}
	a.Listing(cmd, func(c *cli.Call, _ []string) error {
		kinds := needs.DecisionKinds()
		if everything {
			kinds = needs.Kinds()
		}
		rows, total, err := inbox(c, kinds, cli.MostInbox)
		if err != nil {
			return err
		}
		return printInbox(c, rows, total)
	})
	cmd.Flags().BoolVarP(&everything, "all", "a", false, "also runs that failed, and damaged logs")
	return cmd
}

// inbox lists needs of some kinds in the call's project, or in all projects if it has none.
func inbox(c *cli.Call, kinds []string, most int) (rows []inboxRow, total int, err error) {
	found, err := company.Do(c.Ctx, c.All, decisions.Operations.ListNeeds, decisions.ListNeedsParams{
		Dir: c.DirParam(), ProjectID: c.Project, Kinds: kinds, State: "open", Limit: most,
	})
	if err != nil {
		return nil, 0, err
	}
	rows, err = inboxRows(c, found.Needs)
	return rows, found.Total, err
}

// inboxRows converts needs to rows and adds the names of agents.
func inboxRows(c *cli.Call, list []needs.Need) ([]inboxRow, error) {
	rows := make([]inboxRow, len(list))
	if len(list) == 0 {
		return rows, nil
	}
	names, err := ReadAgentNames(c)
	for i, n := range list {
		rows[i] = inboxRow{
			ID: n.Ref(), NeedID: n.NeedID, Kind: n.Kind, Title: n.Title, FromID: orNull(n.Who), From: orNull(names[n.Who]),
			RunID: orNull(n.RunID), ProjectID: orNull(n.ProjectID), At: n.At, ExpiresAt: orNull(n.ExpiresAt),
		}
	}
	return rows, err
}

func printInbox(c *cli.Call, rows []inboxRow, total int) error {
	switch {
	case c.AsJSON:
		return c.PrintJSON(rows)
	case c.Quiet:
		for i := range rows {
			fmt.Fprintln(c.Stdout, rows[i].ID)
		}
		return nil
	case len(rows) == 0:
		c.Note("Nothing needs you.")
		return nil
	}
	if err := c.List(inboxTable(c, rows), inboxLines(rows)); err != nil {
		return err
	}
	if more := total - len(rows); more > 0 && c.OnTerminal() {
		c.Note("… %s more", terminal.FormatGrouped(more))
	}
	return nil
}

// from returns who asks. For kinds that concern a run, it adds the end of the run's id.
func (r *inboxRow) from() string {
	name := cmp.Or(cli.OrEmpty(r.From), cli.OrEmpty(r.FromID), terminal.Unknown)
	if r.RunID != nil && slices.Contains([]string{needs.Permission, needs.Question, needs.Plan, needs.Input, needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog}, r.Kind) {
		return terminal.Fit(name, min(terminal.Columns(name), mostFrom-cli.ShownEnding-1)) + " " + cli.ShortID(*r.RunID)
	}
	return name
}

// mostFrom is the maximum width of that column.
const mostFrom = 14

// inboxTable returns the table of needs for a terminal.
func inboxTable(c *cli.Call, rows []inboxRow) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "ID"}, {Title: "KIND"}, {Title: "FROM", MaxWidth: mostFrom, Drop: 3}, {Title: "TITLE", Text: true}, {Title: "AGE", Right: true, Drop: 1},
	}}
	severalProjects := c.Project == ""
	if severalProjects {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", MaxWidth: 14, Drop: 2})
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	short := cli.Endings(ids)
	for i := range rows {
		r := &rows[i]
		at, _ := clock.Parse(r.At)
		row := []terminal.Cell{
			{Text: short[r.ID], Link: needLink(c, r)}, {Text: r.Kind, Colour: kindColour(r.Kind)}, {Text: r.from()}, {Text: cmp.Or(r.Title, terminal.Unknown)}, {Text: terminal.FormatAge(at, c.Now)},
		}
		if severalProjects {
			row = append(row, terminal.Cell{Text: cmp.Or(c.ProjectNamed(cli.OrEmpty(r.ProjectID)), terminal.Unknown)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// kindColour highlights waiting agents and failures.
func kindColour(kind string) terminal.Colour {
	switch kind {
	case needs.Permission, needs.Question, needs.Plan, needs.Input:
		return terminal.BoldYellow
	case needs.RunFailed, needs.OverBudget, needs.Unreachable, needs.BrokenLog:
		return terminal.Red
	}
	return terminal.None
}

// inboxLines returns the rows for a pipe.
func inboxLines(rows []inboxRow) [][]string {
	lines := make([][]string, len(rows))
	for i := range rows {
		r := &rows[i]
		lines[i] = []string{r.ID, r.Kind, cmp.Or(cli.OrEmpty(r.From), cli.OrEmpty(r.FromID)), r.Title, cli.OrEmpty(r.ProjectID), r.At}
	}
	return lines
}
