package top

// Layout and rendering of the screen.

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

// Sizes of the screen.
const (
	leastWidth, leastHeight = 30, 8   // smaller screens show nothing
	besideWidth             = 100     // from this width, the two parts are side by side
	bothWidth, bothHeight   = 60, 24  // smaller screens show one part at a time
	edges                   = 2 + 1   // lines above and below the parts
	listShare, listOf       = 2, 5    // maximum share of the height for the upper part
	besideShare, besideOf   = 43, 100 // share of the width for the left part
)

// box is a rectangle of the screen.
type box struct{ x, y, width, height int }

func (b box) has(x, y int) bool {
	return x >= b.x && x < b.x+b.width && y >= b.y && y < b.y+b.height
}

// frame is the layout. A hidden part has height 0.
type frame struct {
	list, body box
	rule       int // row of the rule above the body, 0 for none
	beside     bool
}

// frame computes the layout of the current pane.
func (m *Model) frame() (f frame) {
	high := max(0, m.height-edges)
	all := box{0, edges - 1, m.width, high}
	alone := m.whole || m.pane == panePlan || m.pane == paneCost
	narrow := m.width < bothWidth || m.height < bothHeight
	switch {
	case alone || narrow && m.inBody:
		f.rule = all.y
		f.body = box{0, all.y + 1, m.width, max(0, high-1)}
	case narrow:
		f.list = all
	case m.width >= besideWidth:
		f.beside = true
		left := m.width * besideShare / besideOf
		f.list = box{0, all.y, left, high}
		f.body = box{left + 3, all.y, m.width - left - 3, high}
	default:
		rows := min(max(1, len(m.ids(m.pane))), max(1, high*listShare/listOf))
		f.list = box{0, all.y, m.width, rows}
		f.rule = all.y + rows
		f.body = box{0, f.rule + 1, m.width, max(0, high-rows-1)}
	}
	return f
}

// wrapped returns the body of the current pane, wrapped for a width.
func (m *Model) wrapped(width int) []Line { return m.bodies[m.pane].wrapped(max(1, width)) }

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "ac: " + terminal.Quote(m.room.Company)
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.ask != nil && !m.ask.yes {
		prompt := terminal.Columns(m.askPrompt())
		_, at := m.ask.input.view(m.width - prompt)
		v.Cursor = tea.NewCursor(prompt+at, m.height-1)
		v.Cursor.Blink = !m.options.Still
	}
	return v
}

// screen returns the lines of the screen, none wider than the screen.
func (m *Model) screen() []string {
	if m.width < leastWidth || m.height < leastHeight {
		return []string{strings.TrimRight(fit(fmt.Sprintf("too small: %dx%d", m.width, m.height), m.width), " ")}
	}
	lines := []string{m.head(), m.tabs()}
	if m.keys {
		lines = append(lines, m.keyPage(m.height-edges)...)
	} else {
		lines = append(lines, m.parts()...)
	}
	return append(lines, m.bottom())
}

// head returns the first line: company, project and status.
func (m *Model) head() string {
	if m.lost != nil {
		return m.paint(Line{"the workspace cannot be read any more: " + m.lost.Error() + "; press a key to leave", terminal.Red}, m.width)
	}
	where := m.room.Company
	if m.room.Project != "" {
		where += " / " + m.room.Project
	}
	sign := func(unicode, plain string) string {
		if m.options.Unicode {
			return unicode
		}
		return plain
	}
	parts := []string{}
	if m.room.Running > 0 {
		parts = append(parts, fmt.Sprintf("%s %d running", sign("●", "*"), m.room.Running))
	}
	if n := len(m.room.Needs); n > 0 {
		parts = append(parts, fmt.Sprintf("%s %d need you", sign("▲", "!"), n))
	}
	if m.room.Today != "" {
		parts = append(parts, m.room.Today+" today")
	}
	if m.room.Health != "" {
		parts = append(parts, m.room.Health)
	}
	right := ""
	if m.ticking {
		right = m.now.Format("15:04:05")
	}
	state := strings.Join(parts, "   ")
	space := m.width - terminal.Columns(state) - terminal.Columns(right) - 4
	if space < 8 {
		return fit(where+"  "+state, m.width)
	}
	left := fit(where, min(space, max(20, terminal.Columns(where)))) + "  " + state
	return left + strings.Repeat(" ", max(0, m.width-terminal.Columns(left)-terminal.Columns(right))) + right
}

// tabNames returns the names of the panes for the second line, the current one in brackets.
func (m *Model) tabNames() []string {
	names := []string{"1 Now", "2 Needs you", "3 Plan", "4 Talk", "5 Cost"}
	if m.width < bothWidth {
		names = []string{"1 Now", "2 Needs", "3 Plan", "4 Talk", "5 Cost"}
	}
	if n := len(m.room.Needs); n > 0 {
		names[paneNeeds] += fmt.Sprintf("(%d)", n)
	}
	names[m.pane] = "[" + names[m.pane] + "]"
	return names
}

func (m *Model) tabs() string { return fit(strings.Join(m.tabNames(), "  "), m.width) }

// tabAt returns the pane whose name is at a column of the second line.
func (m *Model) tabAt(x int) (paneID, bool) {
	from := 0
	for p, name := range m.tabNames() {
		to := from + len(name)
		if x >= from && x < to {
			return paneID(p), true
		}
		from = to + 2
	}
	return 0, false
}

// parts returns the lines between header and bottom line.
func (m *Model) parts() []string {
	f := m.frame()
	list, body := m.listLines(f.list), m.bodyLines(f.body)
	if f.beside {
		bar := " │ "
		if !m.options.Unicode {
			bar = " | "
		}
		lines := make([]string, len(list))
		for i := range list {
			lines[i] = list[i] + bar + body[i]
		}
		return lines
	}
	lines := list
	if f.rule > 0 {
		lines = append(lines, m.rule())
	}
	return append(lines, body...)
}

// rule returns the line above the body, with the body's subject.
func (m *Model) rule() string {
	dash := "─"
	if !m.options.Unicode {
		dash = "-"
	}
	about := ""
	switch r, _ := m.run(m.selected()); {
	case m.pane == paneNow && r.ID != "":
		about = r.Short + " " + r.Agent
		if r.Place != "" {
			about += " · " + r.Place
		}
	case m.pane == paneNeeds:
		if n, ok := m.need(m.selected()); ok {
			about = n.Short + " " + n.Title
		}
	case m.pane == paneTalk:
		for _, c := range m.room.Conversations {
			if c.ID == m.selected() {
				about = c.Name
			}
		}
	}
	end := ""
	if m.bodies[m.pane].follow {
		end = " following"
	}
	if m.inBody {
		end += " >"
	}
	if about = terminal.Quote(about); about != "" {
		about = " " + strings.TrimRight(fit(about, min(terminal.Columns(about), max(0, m.width-terminal.Columns(end)-6))), " ") + " "
	}
	left := dash + dash + about
	line := left + strings.Repeat(dash, max(0, m.width-terminal.Columns(left)-terminal.Columns(end))) + end
	return m.paint(Line{line, terminal.Dim}, m.width)
}

// listLines returns the rows of the pane's list, padded to the height of the box.
func (m *Model) listLines(b box) []string {
	lines := make([]string, 0, b.height)
	if b.height > 0 {
		ids := m.ids(m.pane)
		from, to := m.lists[m.pane].window(ids, b.height)
		for i, row := range m.rowLines(ids[from:to], b.width-2) {
			mark := "  "
			if ids[from+i] == m.selected() {
				mark = "> "
			}
			if line := mark + row; mark == "  " || m.inBody {
				lines = append(lines, line)
			} else {
				lines = append(lines, m.reverse(line))
			}
		}
		if len(ids) == 0 {
			lines = append(lines, fit("  "+m.nothing(), b.width))
		}
	}
	for len(lines) < b.height {
		lines = append(lines, strings.Repeat(" ", b.width))
	}
	return lines
}

// nothing explains why a list is empty.
func (m *Model) nothing() string {
	switch {
	case !m.loaded:
		return "reading …"
	case m.filter != "":
		return "nothing has \"" + m.filter + "\" (/ to change, Esc to clear)"
	}
	return [panes]string{
		paneNow: "No runs yet: n starts one.", paneNeeds: "Nothing needs you.", paneTalk: "No conversations yet.",
	}[m.pane]
}

// bodyLines returns the body, padded to the height of the box.
func (m *Model) bodyLines(b box) []string {
	lines := make([]string, 0, b.height)
	if b.height > 0 {
		for _, l := range m.bodies[m.pane].window(max(1, b.width), b.height) {
			lines = append(lines, m.paint(l, b.width))
		}
	}
	for len(lines) < b.height {
		lines = append(lines, strings.Repeat(" ", max(0, b.width)))
	}
	return lines
}

func (m *Model) askPrompt() string {
	return strings.TrimRight(fit(terminal.Quote(m.ask.prompt), min(terminal.Columns(terminal.Quote(m.ask.prompt)), m.width*2/3)), " ") + " "
}

// bottom returns the last line: a prompt, a message, or key hints.
func (m *Model) bottom() string {
	switch {
	case m.ask != nil && m.ask.yes:
		return fit(terminal.Quote(m.ask.prompt), m.width)
	case m.ask != nil:
		prompt := m.askPrompt()
		text, _ := m.ask.input.view(m.width - terminal.Columns(prompt))
		return fit(prompt+text, m.width)
	case m.message != "":
		return m.paint(Line{terminal.Quote(m.message), terminal.Yellow}, m.width)
	}
	hint := " j/k move  Enter open  a allow  d deny  s stop  i say  n new  / find  ? help"
	if m.options.ReadOnly {
		hint = " j/k move  Enter open  / find  ? help  q quit"
	}
	return m.paint(Line{hint, terminal.Dim}, m.width)
}
