package top

// The line at the bottom when something is asked there: a note, an answer, a yes.

import (
	tea "charm.land/bubbletea/v2"

	"charm.land/bubbles/v2/textinput"
)

// ask is a question in the bottom line.
type ask struct {
	prompt string
	input  textinput.Model
	yes    bool // one key answers it
	then   func(string) tea.Cmd
}

// askMsg shows a question.
type askMsg struct{ ask *ask }

// asking asks for a line of text, with one to begin with.
func (m *Model) asking(prompt, begin string, then func(string) tea.Cmd) *ask {
	input := textinput.New()
	input.Prompt = ""
	input.SetStyles(textinput.Styles{})
	input.SetVirtualCursor(false)
	input.SetValue(begin)
	input.CursorEnd()
	input.Focus()
	return &ask{prompt: prompt, input: input, then: then}
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
		return q.then(q.input.Value())
	}
	return m.typed(tea.Msg(k))
}

// typed passes a key or a paste to the line.
func (m *Model) typed(msg tea.Msg) (cmd tea.Cmd) {
	if m.ask == nil || m.ask.yes {
		return nil
	}
	m.ask.input, cmd = m.ask.input.Update(msg)
	return cmd
}
