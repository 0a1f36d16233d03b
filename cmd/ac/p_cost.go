package main

// ac cost: what was used, and what it cost.

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/snapshot"
)

func costCommand(a *app) *cobra.Command {
	by, days := "day", 30
	cmd := &cobra.Command{
		Use: "cost", Short: "Show what was used, and what it cost", Args: args(),
		Long: `Show the runs, the tokens and the cost of the last days: by day, agent, model, project or
provider. Days are those of this time zone; days without runs are left out. What has no
price is counted as unpriced, never as free. With --json the result of usage.report.`,
		Example: "  ac cost\n  ac cost --by agent --days 7",
	}
	a.listing(cmd, func(c *call, _ []string) error {
		if !slices.Contains(costBy(), by) {
			return usageError{"--by must be one of " + strings.Join(costBy(), ", ")}
		}
		if days < 1 || days > 366 {
			return usageError{"--days must be from 1 to 366"}
		}
		report, err := c.usage(days)
		if err != nil {
			return err
		}
		if c.asJSON {
			return c.printJSON(report)
		}
		return c.printCost(by, costRows(&report, by), &report)
	})
	cmd.Flags().StringVar(&by, "by", by, strings.Join(costBy(), ", "))
	cmd.Flags().IntVar(&days, "days", days, "how many days, today included")
	completeFlag(cmd, "by", words(costBy()...))
	return cmd
}

// usage is what was used in the last days, by days of this time zone.
func (c *call) usage(days int) (snapshot.UsageReport, error) {
	_, ahead := c.now.Local().Zone()
	p := workforce.UsageReportParams{Dir: c.dirParam(), ProjectID: c.project, Days: days, Timezone: -ahead / 60}
	p.SyncIndex = true
	return company.Do(c.ctx, c.all, workforce.Operations.UsageReport, p)
}

// costBy are the words for what costs are summed by.
func costBy() []string { return []string{"day", "agent", "model", "project", "provider"} }

// costRow is a line of the list, with the id or date of what it is about.
type costRow struct {
	id, name string
	sum      snapshot.UsageSum
}

// costRows are the rows that have any usage.
func costRows(report *snapshot.UsageReport, by string) (rows []costRow) {
	switch by {
	case "day":
		for _, r := range report.Daily {
			if r.Records > 0 {
				rows = append(rows, costRow{r.Date, r.Date, r.UsageSum})
			}
		}
	case "agent":
		for _, r := range report.Agents {
			rows = append(rows, costRow{r.AgentID, r.Name, r.UsageSum})
		}
	case "model":
		for _, r := range report.Models {
			rows = append(rows, costRow{r.Label, r.Label, r.UsageSum})
		}
	case "project":
		for _, r := range report.Projects {
			rows = append(rows, costRow{r.ProjectID, r.Name, r.UsageSum})
		}
	default:
		for _, r := range report.Providers {
			rows = append(rows, costRow{r.Provider, r.Provider, r.UsageSum})
		}
	}
	return rows
}

func (c *call) printCost(by string, rows []costRow, report *snapshot.UsageReport) error {
	switch {
	case c.quiet:
		for _, r := range rows {
			fmt.Fprintln(c.stdout, r.id)
		}
		return nil
	case len(rows) == 0 && c.onTerminal():
		c.note("Nothing was used in the last %d days.", report.Metadata.Days)
		return nil
	}
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = []string{r.id, r.name, strconv.Itoa(r.sum.Sessions), strconv.FormatInt(r.sum.Total, 10), "", strconv.Itoa(r.sum.UnpricedRecords)}
		if r.sum.CostUSD != nil {
			lines[i][4] = strconv.FormatFloat(*r.sum.CostUSD, 'f', -1, 64)
		}
	}
	return c.list(costTable(by, rows, report, c.width(), terminal.Unicode(os.Getenv)), lines)
}

// costTable is the list for a terminal: bars of the cost, of the tokens where nothing has a
// price, and the total.
func costTable(by string, rows []costRow, report *snapshot.UsageReport, width int, unicode bool) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: strings.ToUpper(by), Most: 20}, {Title: "RUNS", Right: true}, {Title: "TOKENS", Right: true}, {Title: "COST", Right: true},
		{Title: "UNPRICED", Right: true, Drop: 1}, {Title: "", Text: true},
	}}
	size := func(s *snapshot.UsageSum) float64 {
		if report.Summary.CostUSD == nil {
			return float64(s.Total)
		}
		if s.CostUSD == nil {
			return 0
		}
		return *s.CostUSD
	}
	most := 0.0
	for i := range rows {
		most = max(most, size(&rows[i].sum))
	}
	const left = 54 // what the other columns take
	cell, long := "█", max(width-left, 10)
	if !unicode {
		cell = "#"
	}
	row := func(name string, s *snapshot.UsageSum, end string) []terminal.Cell {
		unpriced := terminal.Unknown
		if s.UnpricedRecords > 0 {
			unpriced = strconv.Itoa(s.UnpricedRecords)
		}
		return []terminal.Cell{
			{Text: name}, {Text: strconv.Itoa(s.Sessions)}, {Text: estimate(s) + terminal.Tokens(s.Total)}, {Text: terminal.Cost(s.CostUSD)}, {Text: unpriced}, {Text: end, Colour: terminal.Cyan},
		}
	}
	for i := range rows {
		bar := 0
		if most > 0 {
			bar = int(size(&rows[i].sum)/most*float64(long) + 0.5)
		}
		t.Rows = append(t.Rows, row(rows[i].name, &rows[i].sum, strings.Repeat(cell, bar)))
	}
	end := ""
	if by == "day" {
		end = fmt.Sprintf("%d of %d days with runs", len(rows), report.Metadata.Days)
	}
	t.Rows = append(t.Rows, row("total", &report.Summary, end))
	t.Rows[len(rows)][5].Colour = terminal.None
	return t
}

// estimate marks sums of which any part is an estimate.
func estimate(s *snapshot.UsageSum) string {
	if s.EstimatedRecords > 0 {
		return "~"
	}
	return ""
}
