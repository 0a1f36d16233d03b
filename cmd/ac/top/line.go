package top

// A line editor with the usual keys. The component of the TUI library is not used because it
// searches for clipboard programs whenever ac starts.

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

// line is a line with a cursor.
type line struct {
	text []rune
	at   int
}

// lineOf returns a line with a text, and the cursor after it.
func lineOf(text string) line { return line{[]rune(text), len([]rune(text))} }

func (l *line) value() string { return string(l.text) }

// insert inserts text at the cursor. Line ends and other control characters become blanks.
func (l *line) insert(text string) {
	typed := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	l.text = append(l.text[:l.at:l.at], append(typed, l.text[l.at:]...)...)
	l.at += len(typed)
}

// cut removes the text between two positions and moves the cursor there.
func (l *line) cut(from, to int) {
	from, to = max(0, from), min(len(l.text), to)
	l.text = append(l.text[:from:from], l.text[to:]...)
	l.at = from
}

// wordBefore returns where the word before the cursor begins.
func (l *line) wordBefore() int {
	at := l.at
	for at > 0 && unicode.IsSpace(l.text[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(l.text[at-1]) {
		at--
	}
	return at
}

// key handles a key.
func (l *line) key(k tea.KeyPressMsg) {
	switch k.String() {
	case "backspace", "ctrl+h":
		l.cut(l.at-1, l.at)
	case "delete", "ctrl+d":
		l.cut(l.at, l.at+1)
	case "left", "ctrl+b":
		l.at = max(0, l.at-1)
	case "right", "ctrl+f":
		l.at = min(len(l.text), l.at+1)
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.text)
	case "ctrl+u":
		l.cut(0, l.at)
	case "ctrl+k":
		l.cut(l.at, len(l.text))
	case "ctrl+w", "alt+backspace":
		l.cut(l.wordBefore(), l.at)
	default:
		l.insert(k.Text)
	}
}

// view returns the visible part of the line for a width, and the column of the cursor.
func (l *line) view(width int) (text string, cursor int) {
	from := 0
	for terminal.Columns(string(l.text[from:l.at])) >= max(1, width) {
		from++
	}
	return string(l.text[from:]), terminal.Columns(string(l.text[from:l.at]))
}
