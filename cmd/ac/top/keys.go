package top

// Key bindings and mouse actions.

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// key handles a key.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	if m.lost != nil {
		return tea.Quit
	}
	m.message = ""
	if m.ask != nil {
		return m.answerKey(k)
	}
	if m.keys {
		m.keys = false
		return nil
	}
	name := k.String()
	if by, ok := m.moves(name); ok {
		return m.move(by)
	}
	if cmd, ok := m.look(name); ok {
		return cmd
	}
	if m.options.ReadOnly {
		return nil
	}
	return m.act(name)
}

// moves returns by how many rows a key moves. ok is false for other keys.
func (m *Model) moves(name string) (rows int, ok bool) {
	const far = 1 << 30
	switch name {
	case "j", "down":
		return 1, true
	case "k", "up":
		return -1, true
	case "g", "home":
		return -far, true
	case "G", "end", "shift+g":
		return far, true
	case "pgdown", "space":
		return m.page(), true
	case "pgup":
		return -m.page(), true
	}
	return 0, false
}

// move moves the selection, or scrolls the text if the text has the focus.
func (m *Model) move(by int) tea.Cmd {
	f := m.frame()
	if m.inBody || f.list.height == 0 {
		m.bodies[m.pane].scroll(len(m.wrapped(f.body.width)), f.body.height, by)
		return nil
	}
	if m.lists[m.pane].move(m.ids(m.pane), by) {
		return m.open()
	}
	return nil
}

// page returns how many rows a page moves.
func (m *Model) page() int {
	f := m.frame()
	if m.inBody || f.list.height == 0 {
		return max(1, f.body.height-1)
	}
	return max(1, f.list.height-1)
}

// look handles a key that changes only the screen.
func (m *Model) look(name string) (tea.Cmd, bool) {
	switch name {
	case "1", "2", "3", "4", "5":
		return m.show(paneID(name[0] - '1')), true
	case "tab":
		m.nextPart(1)
		return m.open(), true
	case "shift+tab":
		m.nextPart(-1)
		return m.open(), true
	case "enter":
		m.whole, m.inBody = true, m.pane != panePlan
	case "esc":
		if !m.whole && m.filter != "" {
			return m.sift(""), true
		}
		m.whole, m.inBody = false, false
	case "f":
		at := m.frame().body
		m.bodies[m.pane].scroll(len(m.wrapped(at.width)), at.height, 0) // keep the current position
		m.bodies[m.pane].follow = !m.bodies[m.pane].follow
	case "/":
		m.ask = m.asking("filter: ", m.filter, func(words string) tea.Cmd { return m.sift(words) })
	case "r":
		m.proofOf = ""
		return tea.Batch(m.open(), tea.ClearScreen), true
	case "y":
		if id := m.selected(); id != "" {
			m.message = "copied " + id
			return tea.SetClipboard(id), true
		}
	case "m":
		m.mouse = !m.mouse
		m.message = map[bool]string{true: "mouse on", false: "mouse off: the terminal selects text"}[m.mouse]
	case "ctrl+z":
		return tea.Suspend, true
	case "ctrl+l":
		return tea.ClearScreen, true
	case "?":
		m.keys = true
	case "q", "ctrl+c":
		return tea.Quit, true
	default:
		return nil, false
	}
	return nil, true
}

func (m *Model) show(p paneID) tea.Cmd {
	m.pane, m.inBody, m.whole = p, false, false
	return m.open()
}

// nextPart moves the focus to the other part of the pane, then to the next pane.
func (m *Model) nextPart(by int) {
	if parts := len(m.ids(m.pane)) > 0; parts && m.inBody == (by < 0) {
		m.inBody = !m.inBody
		return
	}
	m.pane = (m.pane + panes + paneID(by)) % panes
	m.inBody, m.whole = by < 0 && len(m.ids(m.pane)) > 0, false
}

// sift filters the rows by words.
func (m *Model) sift(words string) tea.Cmd {
	before := m.ids(m.pane)
	m.filter = strings.TrimSpace(words)
	m.lists[m.pane].keep(before, m.ids(m.pane))
	return m.open()
}

// act handles a key that changes the company.
func (m *Model) act(name string) tea.Cmd {
	switch name {
	case "a":
		return m.decide(true)
	case "d":
		return m.decide(false)
	case "A", "shift+a":
		return m.answer()
	case "i":
		m.say()
	case "s":
		m.stop()
	case "l":
		return m.land(false)
	case "D", "shift+d":
		return m.land(true)
	case "n":
		m.start()
	}
	return nil
}

// asked returns the need that keys act on: the selected one, or that of the selected run.
func (m *Model) asked() (Need, bool) {
	id := m.selected()
	if m.pane == paneNow {
		r, _ := m.run(id)
		id = r.Need
	}
	n, ok := m.need(id)
	if !ok {
		m.message = "nothing here waits for you"
	}
	return n, ok
}

// decide asks for a note and decides. The person must have scrolled to the end of what is to be
// approved.
func (m *Model) decide(approve bool) tea.Cmd {
	n, ok := m.asked()
	if !ok {
		return nil
	}
	if n.Kind == "question" || n.Kind == "input" || n.Kind == "help" {
		return m.answer()
	}
	var hash string
	if m.pane == paneNeeds && m.proofOf == n.ID {
		f := m.frame()
		if approve && f.body.height == 0 {
			m.inBody, m.message = true, "this is what you would approve: a again"
			return nil
		}
		if approve && !m.seenToEnd(f) {
			m.bodies[paneNeeds].scroll(len(m.wrapped(f.body.width)), f.body.height, max(1, f.body.height-1))
			m.message = "there is more of it: a again at its end"
			return nil
		}
		hash = m.proof.Hash
	} else if approve && !n.Asks {
		m.pane, m.lists[paneNeeds].selected = paneNeeds, n.ID
		m.message = "this is what you would approve: a again"
		return m.open()
	}
	word := map[bool]string{true: "approve ", false: "deny "}[approve]
	m.ask = m.asking(word+n.Short+", note: ", "", func(note string) tea.Cmd {
		return m.do(func(ctx context.Context) (string, error) { return m.source.Decide(ctx, n.ID, approve, note, hash) })
	})
	return nil
}

// seenToEnd reports whether the end of the body is visible or has been.
func (m *Model) seenToEnd(f frame) bool {
	body := &m.bodies[m.pane]
	wrapped := len(m.wrapped(f.body.width))
	_, to := body.seen(wrapped, f.body.height)
	return body.lines != nil && to == wrapped
}

// answer prompts for the answer to a question.
func (m *Model) answer() tea.Cmd {
	n, ok := m.asked()
	if !ok {
		return nil
	}
	prompt := "answer " + n.Short + ": "
	if m.proofOf == n.ID && len(m.proof.Choices) > 0 {
		var choices []string
		for i, c := range m.proof.Choices {
			choices = append(choices, fmt.Sprintf("%d %s", i+1, c))
		}
		prompt = "answer " + n.Short + " (" + strings.Join(choices, ", ") + "): "
	}
	m.ask = m.asking(prompt, "", func(words string) tea.Cmd {
		if strings.TrimSpace(words) == "" {
			return nil
		}
		return m.do(func(ctx context.Context) (string, error) { return m.source.Answer(ctx, n.ID, words) })
	})
	return nil
}

// say prompts for a message to the selected run or conversation.
func (m *Model) say() {
	id := m.selected()
	var to string
	speak := m.source.Say
	switch r, isRun := m.run(id); {
	case m.pane == paneTalk && id != "":
		to, speak = "say: ", m.source.Send
	case isRun:
		to = "say to " + r.Agent + " " + r.Short + ": "
	default:
		n, _ := m.need(id)
		if r, isRun = m.run(n.RunID); !isRun {
			m.message = "nobody here to say something to"
			return
		}
		id, to = r.ID, "say to "+r.Agent+" "+r.Short+": "
	}
	m.ask = m.asking(to, "", func(words string) tea.Cmd {
		if strings.TrimSpace(words) == "" {
			return nil
		}
		return m.do(func(ctx context.Context) (string, error) { return speak(ctx, id, words) })
	})
}

// stop stops the selected run after a confirmation.
func (m *Model) stop() {
	r, ok := m.run(m.selected())
	if !ok || !r.Live {
		m.message = "no run that lives is selected"
		return
	}
	m.ask = m.confirming("stop "+r.Short+" "+r.Agent+"? y/n ", func() tea.Cmd {
		return m.do(func(ctx context.Context) (string, error) { return m.source.Stop(ctx, r.ID) })
	})
}

// land shows what landing the selected run would bring. Without diff it asks for a confirmation and
// lands the run.
func (m *Model) land(diff bool) tea.Cmd {
	r, ok := m.run(m.selected())
	if !ok || m.pane != paneNow {
		m.message = "no run is selected"
		return nil
	}
	return func() tea.Msg {
		stat, lines, err := m.source.Changes(m.ctx, r.ID)
		switch {
		case err != nil:
			return doneMsg{err: err}
		case diff:
			return linesMsg{paneNow, r.ID, lines}
		}
		return askMsg{m.confirming("land "+r.Short+": "+stat+"? y/n ", func() tea.Cmd {
			return m.do(func(ctx context.Context) (string, error) { return m.source.Land(ctx, r.ID) })
		})}
	}
}

// start prompts for an agent and a task, and starts a run.
func (m *Model) start() {
	agents := m.room.Agents
	if len(agents) == 0 {
		m.message = "there is no agent to give it to: ac init makes those you have"
		return
	}
	m.ask = m.asking("agent ("+strings.Join(agents, ", ")+"): ", agents[0], func(agent string) tea.Cmd {
		m.ask = m.asking("what "+agent+" is to do: ", "", func(words string) tea.Cmd {
			if strings.TrimSpace(words) == "" {
				return nil
			}
			return m.do(func(ctx context.Context) (string, error) { return m.source.Start(ctx, agent, words) })
		})
		return nil
	})
}

// click selects the row, the part or the pane under the mouse.
func (m *Model) click(at tea.Mouse) tea.Cmd {
	f := m.frame()
	switch {
	case m.ask != nil || m.lost != nil || at.Button != tea.MouseLeft:
		return nil
	case at.Y == 1:
		if p, ok := m.tabAt(at.X); ok {
			return m.show(p)
		}
	case f.list.has(at.X, at.Y):
		ids := m.ids(m.pane)
		from, to := m.lists[m.pane].window(ids, f.list.height)
		if row := from + at.Y - f.list.y; row < to {
			again := m.lists[m.pane].selected == ids[row]
			m.lists[m.pane].selected, m.inBody = ids[row], again
			m.whole = again
			return m.open()
		}
	case f.body.has(at.X, at.Y):
		m.inBody = true
	}
	return nil
}

// wheel scrolls the part under the mouse.
func (m *Model) wheel(at tea.Mouse) tea.Cmd {
	by := map[tea.MouseButton]int{tea.MouseWheelUp: -3, tea.MouseWheelDown: 3}[at.Button]
	f := m.frame()
	if f.body.has(at.X, at.Y) {
		m.bodies[m.pane].scroll(len(m.wrapped(f.body.width)), f.body.height, by)
		return nil
	}
	if m.lists[m.pane].move(m.ids(m.pane), by) {
		return m.open()
	}
	return nil
}
