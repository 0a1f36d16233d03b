package execution

// The text of a growing transcript: the agent's messages line by line, everything else once it is
// complete.

import (
	"bufio"
	"io"
	"strings"

	"ac/feed"
	"ac/internal/terminal"
	"ac/runs/interaction"
	"ac/runs/transcript"
)

// LiveText prints notifications of a transcript. It is not safe for concurrent use.
type LiveText struct {
	out      *bufio.Writer
	answer   func(interaction string) string // returns the command that answers a request; nil if a person is asked
	thoughts bool
	open     map[string]*growingItem
	last     string // the item of the last printed line
}

// growingItem is an open item, and the part of it that is printed.
type growingItem struct {
	*transcript.Item
	text string // printed so far: lines of a message, or the rendered item
}

// NewLiveText returns a LiveText that prints to out. answer returns the command that answers a
// request. It is nil if a person is asked.
func NewLiveText(out io.Writer, answer func(string) string, thoughts bool) *LiveText {
	return &LiveText{out: bufio.NewWriter(out), answer: answer, thoughts: thoughts, open: map[string]*growingItem{}}
}

// Take prints the content of a notification.
func (l *LiveText) Take(n feed.TranscriptNotification) error {
	switch n.Op {
	case transcript.Open, transcript.Update:
		l.grow(n.Item)
	case transcript.Append:
		if i := l.open[n.ItemID]; i != nil {
			i.Apply(n.Field, n.Text, n.Seq)
			l.grow(i.Item)
		}
	case transcript.Close:
		l.close(n.Item)
	case transcript.Status:
	}
	return l.out.Flush()
}

// hidden reports whether an item is not printed.
func (l *LiveText) hidden(i *transcript.Item) bool {
	return i.Kind == transcript.KindReasoning && !l.thoughts
}

// grow prints the part of an item that can be printed while it is open.
func (l *LiveText) grow(i *transcript.Item) {
	if l.hidden(i) || i.State == transcript.StateClosed {
		return
	}
	known := l.open[i.ID]
	if known == nil {
		known = &growingItem{}
		l.open[i.ID] = known
	}
	known.Item = i
	switch {
	case answers(i):
		whole := i.Text[:strings.LastIndexByte(i.Text, '\n')+1]
		l.more(known, whole)
	case i.Kind == transcript.KindPlan || i.Interaction != nil || i.Role == transcript.RoleUser:
		l.whole(known, transcript.Render(i)+l.howToAnswer(i))
	}
}

// close prints the rest of an item.
func (l *LiveText) close(i *transcript.Item) {
	known := l.open[i.ID]
	if known == nil {
		known = &growingItem{}
	}
	delete(l.open, i.ID)
	if known.Item = i; l.hidden(i) {
		return
	}
	if answers(i) && known.text != "" {
		l.more(known, i.Text)
		return
	}
	l.whole(known, transcript.Render(i))
}

// answers reports whether an item is a message of the agent, which is printed as it grows.
func answers(i *transcript.Item) bool {
	return i.Role == transcript.RoleAssistant && i.Kind == transcript.KindMessage
}

// more prints the lines that follow the printed part of a text. If the text no longer begins with
// that part, more prints all of it again.
func (l *LiveText) more(i *growingItem, text string) {
	rest, goesOn := strings.CutPrefix(text, i.text)
	if !goesOn {
		rest, l.last = text, ""
	}
	for line := range strings.Lines(rest) {
		mark := "  "
		if l.last != i.ID || i.text == "" {
			mark = "« "
		}
		l.print(i.ID, mark+terminal.QuoteLines(strings.TrimRight(line, "\n"))+"\n")
		i.text = text
	}
}

// whole prints the rendered item, unless it is already printed.
func (l *LiveText) whole(i *growingItem, text string) {
	if text == i.text {
		return
	}
	before := i.text
	i.text = text
	if i.Interaction != nil && before != "" { // the question is already printed
		_, text, _ = strings.Cut(text, "\n")
	}
	l.print(i.ID, text)
}

// howToAnswer returns the line below a request with the command that answers it.
func (l *LiveText) howToAnswer(i *transcript.Item) string {
	if l.answer == nil || i.Interaction == nil || i.Interaction.State != interaction.Open {
		return ""
	}
	return "  (" + terminal.Quote(l.answer(i.InteractionID)) + ")\n"
}

// RunAnswer returns a function that returns the command to answer a request of a run's agent.
func RunAnswer(dir, run string) func(interaction string) string {
	return func(id string) string { return "ac run:answer " + dir + " " + run + " --interaction " + id }
}

func (l *LiveText) print(id, text string) {
	if text == "" {
		return
	}
	_, _ = l.out.WriteString(text) // Flush returns the error
	l.last = id
}
