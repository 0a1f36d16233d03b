package pm

// A plan as plain text.

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"ac/internal/terminal"
)

// Widths besides and of the bars.
const (
	titleColumns = 28
	leastColumns = 20
)

// WriteText draws a plan for a terminal with this many columns. Each task is one line with
// its done part filled and critical tasks marked. It also marks today's column. It removes
// control characters from titles.
func (p *Plan) WriteText(out io.Writer, columns int, today time.Time) error {
	f := frameOf(p.Bars, today)
	chart := max(leastColumns, columns-titleColumns-len("  100%  !"))
	var b strings.Builder
	if p.Status == StatusCycle {
		fmt.Fprintf(&b, "These tasks depend on each other: %s\n", terminal.Printable(strings.Join(p.CycleIDs, ", ")))
	}
	if len(p.Bars) == 0 {
		b.WriteString("No tasks yet.\n")
		_, err := io.WriteString(out, b.String())
		return err
	}
	b.WriteString(strings.TrimRight(strings.Repeat(" ", titleColumns+1)+f.scale(chart), " ") + "\n")
	now := -1
	if at := f.at(today); at >= 0 && at < float64(f.days) {
		now = int(at / float64(f.days) * float64(chart))
	}
	for i := range p.Bars {
		bar := &p.Bars[i]
		mark := ""
		if bar.Critical {
			mark = "  !"
		}
		fmt.Fprintf(&b, "%s %s %3.0f%%%s\n", terminal.Fit(bar.Task.Title, titleColumns), f.line(bar, chart, now), math.Floor(bar.Task.Progress()*100), mark)
	}
	fmt.Fprintf(&b, "\n%s in %s. █ done  ▒ to do  │ today  ! critical: a delay here delays the end\n",
		plural(len(p.Bars), "task"), plural(int(math.Ceil(p.SpanDays)), "day"))
	_, err := io.WriteString(out, b.String())
	return err
}

// scale returns the line of day labels above the bars.
func (f frame) scale(columns int) string {
	line := []rune(strings.Repeat(" ", columns+12))
	free := 0
	for _, t := range f.ticks(columns / 10) {
		at := t.day * columns / f.days
		if at < free {
			continue
		}
		for i, r := range t.label {
			line[at+i] = r
		}
		free = at + len(t.label) + 1
	}
	return string(line)
}

// line returns a bar, at least one column wide.
func (f frame) line(b *Bar, columns, now int) string {
	return f.draw(b, columns, now, marks{'█', '▒', '│'})
}

// marks are the characters of a chart for done, to do, and today.
type marks struct{ done, left, today rune }

// draw returns a bar in these characters, clipped to the frame.
func (f frame) draw(b *Bar, columns, now int, m marks) string {
	scale := float64(columns) / float64(f.days)
	from := int(math.Floor(f.at(b.Start) * scale))
	if f.at(b.Start) < float64(f.days) {
		from = min(columns-1, from)
	}
	to := max(from+1, int(math.Round(f.at(b.End)*scale)))
	filled := from + int(math.Round(b.Task.Progress()*float64(to-from)))
	var line strings.Builder
	for at := range columns {
		switch {
		case at >= from && at < filled:
			line.WriteRune(m.done)
		case at >= from && at < to:
			line.WriteRune(m.left)
		case at == now:
			line.WriteRune(m.today)
		default:
			line.WriteRune(' ')
		}
	}
	return line.String()
}
