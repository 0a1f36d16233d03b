package workflow

// The prompt of a task: its goal with all placeholders filled in, what it remembers, and what
// people sent meanwhile.

import (
	"fmt"
	"strconv"
	"strings"

	"ac/workspace/doc"
)

// Bounds of texts, in bytes.
const (
	maxInserted      = 64 << 10  // of one text inserted into a goal
	maxInsertedProse = 256 << 10 // the same in tasks that answer in prose
	maxMemory        = 64 << 10
	maxStepText      = 256 << 10
	maxGoal          = 768 << 10
	maxTexts         = 10 << 20 // of all steps
	maxInstructions  = 32 << 10
)

// cutText truncates a text to limit bytes. A truncated text ends with a line that records its full
// length.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	note := fmt.Sprintf("\n[cut: the text has %d bytes]", len(text))
	return strings.ToValidUTF8(text[:limit-len(note)], "") + note
}

// assignment returns the job of a task that begins now.
func (w *walk) assignment(n *doc.Node, c call) Assignment {
	prose := n.Task.Answer == doc.AnswerProse
	goal := w.message(n, c)
	a := Assignment{Instructions: cutText(w.fill(n, c, n.Task.Instructions), maxInstructions), Attachments: c.with}
	if c.goal == nil && !w.takesInput(n) && strings.TrimSpace(c.input) != "" {
		if prose {
			goal = joined(goal, cutText(c.input, maxInsertedProse))
		} else {
			a.Attachments = append(a.Attachments, doc.Attachment{Name: "input", Text: cutText(c.input, maxInserted)})
		}
	}
	if strings.TrimSpace(goal) == "" {
		goal = "(no input)"
	}
	memory, steering := w.earlier(n), w.steering()
	if prose {
		goal = joined(memory, goal, steering)
	} else {
		goal = joined(goal, memory, steering)
	}
	a.Goal = cutText(goal, maxGoal)
	return a
}

// joined joins the texts that are not blank, with a blank line between them.
func joined(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// message returns the message for a node: its goal with the placeholders filled in.
func (w *walk) message(n *doc.Node, c call) string {
	if c.goal != nil {
		return cutText(*c.goal, maxInsertedProse)
	}
	return w.fill(n, c, n.Task.Goal)
}

// takesInput reports whether the goal of a node has a placeholder for the input.
func (w *walk) takesInput(n *doc.Node) bool {
	parts, _ := doc.Placeholders{}.Parse(n.Task.Goal) // a template that does not parse never runs
	for _, p := range parts {
		if p.Of == "input" {
			return true
		}
	}
	return false
}

// fill replaces the placeholders of a text. It does not search the inserted texts for more.
func (w *walk) fill(n *doc.Node, c call, text string) string {
	limit := maxInserted
	if n.Task.Answer == doc.AnswerProse {
		limit = maxInsertedProse
	}
	parts, _ := doc.Placeholders{}.Parse(text)
	var b strings.Builder
	for _, p := range parts {
		switch p.Of {
		case "":
			b.WriteString(p.Text)
		case "input":
			b.WriteString(cutText(c.input, limit))
		case "inputs":
			b.WriteString(cutText(w.e.d.Record.Inputs[p.Name], limit))
		case "step":
			b.WriteString(cutText(w.newest[p.Name], limit))
		case "feedback":
			b.WriteString(cutText(c.feedback, limit))
		case "cycle":
			if c.cycle > 0 {
				b.WriteString(strconv.Itoa(c.cycle))
			}
		}
	}
	return b.String()
}

// earlier returns the earlier messages and answers of a node, or of the nodes that share its
// memory, newest last. If they are too long, it drops whole calls, the oldest first.
func (w *walk) earlier(n *doc.Node) string {
	const begin, end = "<earlier_calls>\n", "</earlier_calls>\n"
	calls := w.memory[n.Task.Remember]
	if n.Task.Remember == "" || len(calls) == 0 {
		return ""
	}
	text := ""
	for i := len(calls) - 1; i >= 0; i-- {
		one := "<call>\n<message>\n" + calls[i].message + "\n</message>\n<answer>\n" + calls[i].answer + "\n</answer>\n</call>\n"
		if len(begin)+len(one)+len(text)+len(end) > maxMemory {
			break
		}
		text = one + text
	}
	if text == "" {
		return ""
	}
	return begin + text + strings.TrimSuffix(end, "\n")
}

// steering returns the texts that people sent and that no task has received yet.
func (w *walk) steering() string {
	var texts []string
	for _, s := range w.e.d.Record.Steer {
		if s.UsedBy == "" {
			texts = append(texts, s.Text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "<user_steering>\n" + strings.Join(texts, "\n\n") + "\n</user_steering>"
}
