package pm

// A plan as an SVG picture.

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"ac/internal/xmltext"
)

// Dimensions of the picture, in user units.
const (
	svgTitles  = 260
	svgChart   = 900
	svgRow     = 30
	svgBar     = 18
	svgHead    = 76
	svgMargin  = 20
	svgFoot    = 54
	svgLetters = 36 // the letters of a title
)

// The colours of paper, text, lines and bars. Critical bars also differ by
// their outline, for colour-blind readers.
const svgStyle = `
text{font:13px -apple-system,"Segoe UI","Noto Sans",sans-serif;fill:#1f2430}
.title{font-size:18px;font-weight:600}.quiet{fill:#697180;font-size:11px}
.grid{stroke:#e6e8ee}.zebra{fill:#f7f8fb}.bar{fill:#b9c9f2}.done{fill:#4f74d9}
.critical .bar{fill:#f7c6b6;stroke:#d6552b;stroke-width:1.5}.critical .done{fill:#d6552b}
.slack{fill:none;stroke:#aab2c3;stroke-dasharray:3 3}.on{fill:none;stroke:#8d95a6;stroke-width:1.2}
.today{stroke:#0c9f6e;stroke-width:1.5}.now{fill:#0c9f6e;font-size:11px}.warn{fill:#b3261e}`

// WriteSVG draws a plan as a self-contained picture: bars with progress, the critical path,
// slack, dependencies, and today's line. It escapes task texts, so that none becomes markup.
func (p *Plan) WriteSVG(out io.Writer, title string, today time.Time) error {
	d := drawing{plan: p, frame: frameOf(p.Bars, today), rows: make(map[string]int, len(p.Bars))}
	for i := range p.Bars {
		d.rows[p.Bars[i].Task.ID] = i
	}
	height := svgHead + svgRow*max(1, len(p.Bars)) + svgFoot
	width := svgMargin*2 + svgTitles + svgChart
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		width, height, width, height, xmltext.Escape("Plan of "+title))
	d.printf("<style>%s</style>\n", svgStyle)
	d.printf(`<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#8d95a6"/></marker></defs>`)
	d.printf(`<rect width="%d" height="%d" fill="#fff"/>`, width, height)
	d.printf(`<text class="title" x="%d" y="32">%s</text>`+"\n", svgMargin, xmltext.Escape(cut(title, 90)))
	d.grid(height)
	d.dependencies()
	for i := range p.Bars {
		d.bar(i)
	}
	d.today(today, height)
	d.legend(height)
	d.printf("</svg>\n")
	_, err := io.WriteString(out, d.String())
	return err
}

type drawing struct {
	strings.Builder
	plan  *Plan
	frame frame
	rows  map[string]int // row numbers by task id
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// x returns the coordinate of a time. The frame contains all bars.
func (d *drawing) x(t time.Time) float64 {
	return svgMargin + svgTitles + d.frame.at(t)/float64(d.frame.days)*svgChart
}

// y returns the middle of a row.
func (d *drawing) y(row int) float64 { return svgHead + svgRow*(float64(row)+0.5) }

func (d *drawing) grid(height int) {
	for row := 0; row < len(d.plan.Bars); row += 2 {
		d.printf(`<rect class="zebra" x="%d" y="%d" width="%d" height="%d"/>`, svgMargin, svgHead+svgRow*row, svgTitles+svgChart, svgRow)
	}
	for _, t := range d.frame.ticks(12) {
		x := svgMargin + svgTitles + float64(t.day)/float64(d.frame.days)*svgChart
		d.printf(`<path class="grid" d="M%.1f %dV%d"/><text class="quiet" x="%.1f" y="%d">%s</text>`, x, svgHead, height-svgFoot, x+3, svgHead-8, t.label)
	}
	if len(d.plan.Bars) == 0 {
		d.printf(`<text class="quiet" x="%d" y="%d">No tasks yet.</text>`, svgMargin, svgHead+svgRow/2+4)
	}
	d.printf("\n")
}

// dependencies draws each dependency as a line from the end of one bar to the start of
// another.
func (d *drawing) dependencies() {
	for i := range d.plan.Bars {
		b := &d.plan.Bars[i]
		if b.Task.Schedule == nil {
			continue
		}
		for _, id := range b.Task.Schedule.DependsOnTaskIDs {
			from, known := d.rows[id]
			if !known || from == i {
				continue
			}
			x1, y1 := d.right(&d.plan.Bars[from]), d.y(from)
			x2, y2 := d.x(b.Start), d.y(i)
			bend := max(10, math.Abs(x2-x1)/2)
			d.printf(`<path class="on" marker-end="url(#tip)" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`, x1, y1, x1+bend, y1, x2-bend, y2, x2-1, y2)
		}
	}
	d.printf("\n")
}

// right returns the right end of a bar, which is always wide enough to see.
func (d *drawing) right(b *Bar) float64 { return max(d.x(b.Start)+3, d.x(b.End)) }

func (d *drawing) bar(row int) {
	b := &d.plan.Bars[row]
	x, y := d.x(b.Start), d.y(row)-svgBar/2
	long := d.right(b) - x
	class := ""
	if b.Critical {
		class = ` class="critical"`
	}
	d.printf(`<g%s><title>%s</title>`, class, xmltext.Escape(b.describe()))
	d.printf(`<text x="%d" y="%.1f">%s</text>`, svgMargin+4, d.y(row)+4.5, xmltext.Escape(cut(b.Task.Title, svgLetters)))
	if slack := b.SlackDays / float64(d.frame.days) * svgChart; slack > 0 {
		end := min(x+long+slack, svgMargin+svgTitles+svgChart)
		d.printf(`<path class="slack" d="M%.1f %.1fH%.1f"/>`, x+long, d.y(row), end)
	}
	d.printf(`<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3"/>`, x, y, long, svgBar)
	if done := b.Task.Progress(); done > 0 {
		d.printf(`<rect class="done" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3"/>`, x, y, long*done, svgBar)
	}
	d.printf("</g>\n")
}

// describe returns the tooltip of a bar.
func (b *Bar) describe() string {
	text := fmt.Sprintf("%s (%s, %.0f%%)\n%s to %s, %s", b.Task.Title, strings.ReplaceAll(b.Task.Status, "_", " "), math.Floor(b.Task.Progress()*100),
		b.Start.Format(time.DateOnly), b.End.Format(time.DateOnly), plural(b.DurationDays, "day"))
	if b.Critical {
		return text + ", critical"
	}
	return text + fmt.Sprintf(", %g days of slack", b.SlackDays)
}

func (d *drawing) today(today time.Time, height int) {
	if at := d.frame.at(today); at < 0 || at > float64(d.frame.days) || len(d.plan.Bars) == 0 {
		return
	}
	x := d.x(today)
	d.printf(`<path class="today" d="M%.1f %dV%d"/><text class="now" x="%.1f" y="%d" text-anchor="middle">today</text>`+"\n", x, svgHead-4, height-svgFoot, x, height-svgFoot+14)
}

func (d *drawing) legend(height int) {
	y := height - 16
	d.printf(`<text class="quiet" x="%d" y="%d">%s in %g days.</text>`, svgMargin, y, plural(len(d.plan.Bars), "task"), d.plan.SpanDays)
	x := svgMargin + svgTitles
	for _, sign := range []struct{ class, inside, label string }{{"", "done", "done"}, {"", "bar", "to do"}, {"critical", "bar", "critical"}} {
		d.printf(`<g class="%s"><rect class="%s" x="%d" y="%d" width="22" height="10" rx="2"/><text class="quiet" x="%d" y="%d">%s</text></g>`,
			sign.class, sign.inside, x, y-9, x+28, y, sign.label)
		x += 110
	}
	d.printf(`<path class="slack" d="M%d %dH%d"/><text class="quiet" x="%d" y="%d">slack</text>`, x, y-4, x+22, x+28, y)
	if d.plan.Status == StatusCycle {
		d.printf(`<text class="warn" x="%d" y="52">These tasks depend on each other: %s</text>`, svgMargin, xmltext.Escape(cut(strings.Join(d.plan.CycleIDs, ", "), 120)))
	}
	d.printf("\n")
}

// cut truncates a text to a number of letters.
func cut(text string, letters int) string {
	runes := []rune(text)
	if len(runes) <= letters {
		return text
	}
	return string(runes[:letters-1]) + "…"
}
