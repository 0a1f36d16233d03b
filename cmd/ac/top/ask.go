package top

// The bottom line when it asks for input: a note, an answer, or a confirmation.

import tea "charm.land/bubbletea/v2"

// ask is a prompt in the bottom line.
type ask struct {
	prompt string
	input  line
	yes    bool // a single key answers it
	then   func(string) tea.Cmd
}

// askMsg shows a prompt.
type askMsg struct{ ask *ask }

// asking returns a prompt for a line of text, with an initial text.
func (m *Model) asking(prompt, begin string, then func(string) tea.Cmd) *ask {
	return &ask{prompt: prompt, input: lineOf(begin), then: then}
}

// confirming returns a prompt that y confirms.
func (m *Model) confirming(prompt string, then func() tea.Cmd) *ask {
	return &ask{prompt: prompt, yes: true, then: func(string) tea.Cmd { return then() }}
}

// answerKey handles a key while a prompt is shown.
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
