package fullscreen

// The cost pane of ac top.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"ac/cmd/ac/plumbing/workspaces"
	"ac/cmd/ac/porcelain/oversight"
	"ac/cmd/ac/top"
	"ac/company"
	"ac/company/workforce"
	"ac/internal/terminal"
	"ac/runs/budget"
)

// budgetCells is the width of a budget's bar.
const budgetCells = 20

// Cost returns the usage of the last days, and of the budgets.
func (t *topSource) Cost(ctx context.Context, width int) (lines []top.Line, err error) {
	c := t.call(ctx, io.Discard)
	report, err := oversight.Usage(c, topCostDays)
	if err != nil {
		return nil, err
	}
	unicode := terminal.Unicode(os.Getenv)
	for _, by := range []string{"day", "agent"} {
		rows := workspaces.CostRows(&report, by)
		if len(rows) == 0 {
			lines = []top.Line{{Text: fmt.Sprintf("Nothing was used in the last %d days.", topCostDays)}, {}}
			break
		}
		lines = append(lines, tableLines(workspaces.CostTable(by, rows, &report, width, unicode), width)...)
	}
	budgets, err := company.Do(ctx, c.All, workforce.Operations.Budgets, workforce.BudgetsParams{Dir: c.DirParam(), ProjectID: c.Project})
	if err == nil && len(budgets) > 0 {
		lines = append(lines, tableLines(budgetTable(budgets, unicode), width)...)
	}
	return lines, err
}

// tableLines returns the lines of a table, followed by an empty one.
func tableLines(t terminal.Table, width int) (lines []top.Line) {
	for _, line := range t.Lines(width, false) {
		lines = append(lines, top.Line{Text: line})
	}
	return append(lines, top.Line{})
}

// budgetTable returns a table of the budgets and their usage.
func budgetTable(budgets []workforce.BudgetUse, unicode bool) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "BUDGET", Text: true}, {Title: "USED", Right: true}, {Title: "OF", Right: true}, {Title: "", Right: true}, {Title: "", Drop: 1},
	}}
	full, rest := "█", "░"
	if !unicode {
		full, rest = "#", "-"
	}
	for _, b := range budgets {
		used, limit := terminal.FormatTokens(int64(b.Used)), terminal.FormatTokens(int64(b.Limit))+" tokens"
		if b.Metric == budget.MetricCost {
			used, limit = terminal.Unknown, terminal.FormatCost(&b.Limit)
			if b.Used > 0 { // tokens without a price have an unknown cost
				used = terminal.FormatCost(&b.Used)
			}
		}
		share := 1.0
		if b.Limit > 0 {
			share = b.Used / b.Limit
		}
		cells := int(min(share, 1) * budgetCells)
		name := b.Name
		if b.Scope == budget.ScopeTask {
			name = "task " + name
		}
		t.Rows = append(t.Rows, []terminal.Cell{
			{Text: name}, {Text: used}, {Text: limit}, {Text: fmt.Sprintf("%.0f %%", share*100)}, {Text: strings.Repeat(full, cells) + strings.Repeat(rest, budgetCells-cells)},
		})
	}
	return t
}
