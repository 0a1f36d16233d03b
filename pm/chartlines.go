package pm

// A plan as lines of text for people: who does what when, as wide as the terminal.

import (
	"fmt"
	"math"
	"strings"
	"time"

	"ac/internal/terminal"
)

// ChartOptions determine how a plan is drawn for people.
type ChartOptions struct {
	Columns int // the width of the longest line
	Days    int // how many days to draw, starting yesterday; 0 for the whole plan
	Today   time.Time
	Who     func(agentID string) string
	Colour  bool
	Unicode bool
}

// Widths of the parts besides the bars: title and name at most, bars at least, and the
// percentage with its blanks and the mark of a critical task.
const (
	mostTitle  = 28
	mostWho    = 12
	leastChart = 10
	percent    = len(" 100% !")
)

// ChartLines draws a plan with a line for each task: its title, its assignee, its bar, and
// the percentage done. A narrow terminal gets no names, and an even narrower one no bars.
func (p *Plan) ChartLines(o ChartOptions) []string {
	f := frameOf(p.Bars, o.Today)
	if o.Days > 0 {
		f = frame{from: o.Today.UTC().Truncate(wholeDay).AddDate(0, 0, -1), days: o.Days}
	}
	m := marks{'#', '=', '|'}
	if o.Unicode {
		m = marks{'█', '▒', '│'}
	}
	title, who, chart := o.widths()
	now := -1
	if at := f.at(o.Today); at >= 0 && at < float64(f.days) {
		now = int(at / float64(f.days) * float64(chart))
	}
	var lines []string
	add := func(line string) { lines = append(lines, strings.TrimRight(line, " ")) }
	if p.Status == StatusCycle {
		add(terminal.Fit("These tasks depend on each other: "+strings.Join(p.CycleIDs, ", "), o.Columns))
	}
	if chart > 0 {
		scale := []rune(f.scale(chart))
		add(strings.Repeat(" ", title+who+1) + string(scale[:min(len(scale), chart+percent)]))
	}
	for i := range p.Bars {
		bar := &p.Bars[i]
		line := terminal.Fit(bar.Task.Title, title)
		if who > 0 {
			line += " " + terminal.Fit(o.Who(bar.Task.AssigneeAgentID), who-1)
		}
		if chart > 0 {
			drawn := f.draw(bar, chart, now, m)
			if o.Colour {
				drawn = stateColour(bar.Task.Status).Paint(drawn)
			}
			line += " " + drawn
		}
		mark := " "
		if bar.Critical {
			mark = "!"
		}
		add(line + fmt.Sprintf(" %3.0f%% %s", math.Floor(bar.Task.Progress()*100), mark))
	}
	add("")
	for _, line := range []string{
		fmt.Sprintf("%s in %s", plural(len(p.Bars), "task"), plural(int(math.Ceil(p.SpanDays)), "day")),
		fmt.Sprintf("%c done  %c to do  %c today  ! critical: a delay here delays the end", m.done, m.left, m.today),
	} {
		add(terminal.Fit(line, min(o.Columns, terminal.Columns(line))))
	}
	return lines
}

// widths returns the widths of the titles, of the names with a blank before them, and of the
// bars.
func (o ChartOptions) widths() (title, who, chart int) {
	left := o.Columns - percent
	title, who = min(mostTitle, max(1, left/3)), mostWho
	if chart = left - title - who - 1; chart < leastChart {
		who = 0
		chart = left - title - 1
	}
	if chart < leastChart {
		return max(1, left), 0, 0
	}
	return title, who, chart
}

// stateColour returns the colour of a task's bar.
func stateColour(status string) terminal.Colour {
	switch status {
	case "done":
		return terminal.Green
	case "blocked":
		return terminal.Red
	case "in_progress":
		return terminal.Cyan
	}
	return terminal.None
}
