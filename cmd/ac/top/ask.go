package top

// The line at the bottom when something is asked there: a note, an answer, a yes.

import tea "charm.land/bubbletea/v2"

// ask is a question in the bottom line.
type ask struct {
	prompt string
	input  line
	yes    bool // one key answers it
	then   func(string) tea.Cmd
}

// askMsg shows a question.
type askMsg struct{ ask *ask }

// asking asks for a line of text, with one to begin with.
func (m *Model) asking(prompt, begin string, then func(string) tea.Cmd) *ask {
	return &ask{prompt: prompt, input: lineOf(begin), then: then}
}

// confirming asks for a y.
func (m *Model) confirming(prompt string, then func() tea.Cmd) *ask {
	return &ask{prompt: prompt, yes: true, then: func(string) tea.Cmd { return then() }}
}

// answerKey takes a key for the question.
func (m *Model) answerKey(k tea.KeyPressMsg) tea.Cmd {
	q := m.ask
	name := k.String()
	switch {
	case name == "esc" || name == "ctrl+c":
		m.ask = nil
		return nil
	case q.yes:
		m.ask = nil
		if name == "y" || name == "Y" {
			return q.then("")
		}
		return nil
	case name == "enter":
		m.ask = nil
		return q.then(q.input.value())
	}
	q.input.key(k)
	return nil
}
