package cli

// The list of runs on a terminal.

import (
	"time"

	"ac/company"
	"ac/internal/clock"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

// RunTable returns the table of a list of runs. unicode allows characters beyond ASCII.
func (c *Call) RunTable(list company.RunRows, unicode bool) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "RUN"}, {Title: "STATE"}, {Title: "AGENT", MaxWidth: 14, Drop: 6}, {Title: "WHAT", Text: true}, {Title: "AGE", Right: true, Drop: 4},
		{Title: "TOOK", Right: true, Drop: 2}, {Title: "TOKENS", Right: true, Drop: 1}, {Title: "COST", Right: true, Drop: 3},
	}}
	severalProjects := c.Project == ""
	if severalProjects {
		t.Columns = append(t.Columns, terminal.Column{Title: "PROJECT", MaxWidth: 14, Drop: 5})
	}
	short := Endings(list.IDs)
	for i := range list.Rows {
		r := &list.Rows[i]
		sign, colour := StateSign(r, unicode)
		created, _ := clock.Parse(OrEmpty(r.CreatedAt))
		row := []terminal.Cell{
			{Text: short[r.RunID], Link: c.RunLink(r.ProjectID, r.RunID)}, {Text: sign + " " + r.State, Colour: colour}, {Text: OrUnknown(r.Agent, r.AgentID)}, {Text: OrUnknown(r.What, "")},
			{Text: terminal.FormatAge(created, c.Now)}, {Text: Took(r)}, {Text: Tokens(r)}, {Text: terminal.FormatCost(r.CostUSD)},
		}
		if severalProjects {
			row = append(row, terminal.Cell{Text: c.ProjectNamed(r.ProjectID)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Took returns how long a run took.
func Took(r *company.RunRow) string {
	if r.TookS == nil {
		return terminal.Unknown
	}
	return terminal.FormatDuration(time.Duration(*r.TookS * float64(time.Second)))
}

// Tokens returns the tokens of a run. A tilde marks an estimate.
func Tokens(r *company.RunRow) string {
	switch {
	case r.Tokens == nil:
		return terminal.Unknown
	case r.TokensEstimated:
		return "~" + terminal.FormatTokens(*r.Tokens)
	}
	return terminal.FormatTokens(*r.Tokens)
}

// ProjectNamed returns the name of a project, or its id if the name is unknown.
func (c *Call) ProjectNamed(id string) string {
	for _, p := range c.Projects {
		if p.ID == id {
			return p.Name
		}
	}
	return id
}

// StateSign returns the sign and the color of a run's state. The word next to it means the same.
func StateSign(r *company.RunRow, unicode bool) (string, terminal.Colour) {
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
