package workspaces

// The table of costs.

import (
	"fmt"
	"strconv"
	"strings"

	"ac/internal/terminal"
	"ac/snapshot"
)

// CostBy lists the keys by which costs can be summed up.
func CostBy() []string { return []string{"day", "agent", "model", "project", "provider"} }

// CostRow is a row of the table. ID is the id or date of its subject.
type CostRow struct {
	ID, Name string
	Sum      snapshot.UsageSum
}

// CostRows returns the rows of a report that have any usage.
func CostRows(report *snapshot.UsageReport, by string) (rows []CostRow) {
	switch by {
	case "day":
		for _, r := range report.Daily {
			if r.Records > 0 {
				rows = append(rows, CostRow{r.Date, r.Date, r.UsageSum})
			}
		}
	case "agent":
		for _, r := range report.Agents {
			rows = append(rows, CostRow{r.AgentID, r.Name, r.UsageSum})
		}
	case "model":
		for _, r := range report.Models {
			rows = append(rows, CostRow{r.Label, r.Label, r.UsageSum})
		}
	case "project":
		for _, r := range report.Projects {
			rows = append(rows, CostRow{r.ProjectID, r.Name, r.UsageSum})
		}
	default:
		for _, r := range report.Providers {
			rows = append(rows, CostRow{r.Provider, r.Provider, r.UsageSum})
		}
	}
	return rows
}

// CostTable returns the table for a terminal, with bars and the total. The bars show the cost, or
// the tokens if nothing has a price.
func CostTable(by string, rows []CostRow, report *snapshot.UsageReport, width int, unicode bool) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: strings.ToUpper(by), MaxWidth: 20}, {Title: "RUNS", Right: true}, {Title: "TOKENS", Right: true}, {Title: "COST", Right: true},
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
		most = max(most, size(&rows[i].Sum))
	}
	const left = 54 // the width of the other columns
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
			{Text: name}, {Text: strconv.Itoa(s.Sessions)}, {Text: estimate(s) + terminal.FormatTokens(s.Total)}, {Text: terminal.FormatCost(s.CostUSD)}, {Text: unpriced}, {Text: end, Colour: terminal.Cyan},
		}
	}
	for i := range rows {
		bar := 0
		if most > 0 {
			bar = int(size(&rows[i].Sum)/most*float64(long) + 0.5)
		}
		t.Rows = append(t.Rows, row(rows[i].Name, &rows[i].Sum, strings.Repeat(cell, bar)))
	}
	end := ""
	if by == "day" {
		end = fmt.Sprintf("%d of %d days with runs", len(rows), report.Metadata.Days)
	}
	t.Rows = append(t.Rows, row("total", &report.Summary, end))
	t.Rows[len(rows)][5].Colour = terminal.None
	return t
}

// estimate returns the mark of sums that contain estimates.
func estimate(s *snapshot.UsageSum) string {
	if s.EstimatedRecords > 0 {
		return "~"
	}
	return ""
}
