package top

// The rows of the lists, and the help page.

import (
	"ac/internal/terminal"
)

// rowLines returns the rows of the pane's list with these ids, each exactly width columns wide.
func (m *Model) rowLines(ids []string, width int) (lines []string) {
	var t terminal.Table
	switch m.pane {
	case paneNow:
		t = m.runTable(ids)
	case paneNeeds:
		t = m.needTable(ids)
	case paneTalk:
		t = m.talkTable(ids)
	case panePlan, paneCost, panes:
	}
	if len(t.Rows) == 0 {
		return nil
	}
	for _, line := range t.Lines(width, false)[1:] {
		lines = append(lines, fit(line, width))
	}
	return m.colourStates(lines, ids)
}

// runTable returns the table of these runs, without column titles.
func (m *Model) runTable(ids []string) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{
		{}, {}, {MaxWidth: 14, Drop: 6}, {Text: true}, {Right: true, Drop: 4}, {Right: true, Drop: 1}, {Right: true, Drop: 3},
	}}
	for _, id := range ids {
		r, _ := m.run(id)
		t.Rows = append(t.Rows, []terminal.Cell{
			{Text: r.Short}, {Text: r.Sign + " " + r.State}, {Text: r.Agent}, {Text: r.What}, {Text: terminal.FormatAge(r.At, m.now)}, {Text: r.Tokens}, {Text: r.Cost},
		})
	}
	return t
}

func (m *Model) needTable(ids []string) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{}, {}, {MaxWidth: 14, Drop: 2}, {Text: true}, {Right: true, Drop: 1}}}
	for _, id := range ids {
		n, _ := m.need(id)
		age := terminal.FormatAge(n.At, m.now)
		if !n.Expires.IsZero() {
			age = terminal.FormatDuration(max(0, n.Expires.Sub(m.now))) + " left"
		}
		t.Rows = append(t.Rows, []terminal.Cell{{Text: n.Short}, {Text: n.Kind}, {Text: n.From}, {Text: n.Title}, {Text: age}})
	}
	return t
}

func (m *Model) talkTable(ids []string) terminal.Table {
	t := terminal.Table{Columns: []terminal.Column{{Text: true}, {MaxWidth: 14, Drop: 2}, {Right: true, Drop: 1}}}
	for _, c := range m.room.Conversations {
		for _, id := range ids {
			if c.ID == id {
				t.Rows = append(t.Rows, []terminal.Cell{{Text: c.Name}, {Text: c.LastBy}, {Text: terminal.FormatAge(c.LastAt, m.now)}})
			}
		}
	}
	return t
}

// colourStates colors the rows of runs by state. The words alone have the same meaning.
func (m *Model) colourStates(lines, ids []string) []string {
	if m.pane != paneNow || !m.options.Colour {
		return lines
	}
	for i, id := range ids {
		if r, _ := m.run(id); id != m.selected() || m.inBody {
			lines[i] = m.paint(Line{lines[i], r.Colour}, terminal.Columns(lines[i]))
		}
	}
	return lines
}

// keyPage returns the help page.
func (m *Model) keyPage(height int) []string {
	page := []Line{
		{"1 to 5, Tab   panes and their parts", terminal.None},
		{"j k g G       move; in the text when it has the keys", terminal.None},
		{"PgUp PgDn     a page", terminal.None},
		{"Enter, Esc    open on the whole screen, back", terminal.None},
		{"f             follow the end of the text, or not", terminal.None},
		{"/             show only rows with some words", terminal.None},
		{"r             read again     y  copy the id     m  mouse on or off", terminal.None},
		{"Ctrl-Z Ctrl-L suspend, draw again     q  quit: runs go on", terminal.None},
	}
	if !m.options.ReadOnly {
		page = append(page, []Line{
			{"", terminal.None},
			{"a d           approve or allow, deny: Enter decides, Esc keeps", terminal.None},
			{"A             answer a question, by the number of a choice or in words", terminal.None},
			{"i             say something to the selected run", terminal.None},
			{"s             stop it, after y", terminal.None},
			{"l D           land what it changed, after y; see the diff", terminal.None},
			{"n             start a run", terminal.None},
		}...)
	}
	page = append(page, Line{"", terminal.None}, Line{"For screen readers: ac watch, ac inbox. Any key goes back.", terminal.Dim})
	lines := make([]string, 0, height)
	for i := range height {
		var l Line
		if i < len(page) {
			l = page[i]
		}
		lines = append(lines, m.paint(l, m.width))
	}
	return lines
}
