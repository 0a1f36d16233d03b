package transcript

// The digest: a summary of the run so far, for a new conversation.

import (
	"slices"
	"strconv"
	"strings"

	"ac/internal/clip"
	"ac/runs/interaction"
)

// MaxDigest bounds a digest, in bytes.
const MaxDigest = 24 << 10

const (
	digestAsk      = 1 << 10 // bytes of each text of a person
	digestSaid     = 4 << 10 // bytes of each answer, if the digest is too long
	digestAnswers  = 3
	digestCommands = 20
	digestTitle    = 300
	digestFiles    = 200
	digestOpen     = 20
)

// digest collects the contents of a digest, item by item, in bounded memory.
type digest struct {
	asked    askedTexts
	files    []string
	plan     string
	commands []string
	said     []string
	open     []string
}

// askedTexts holds people's texts: the first and the last ones, as far as each part fits into a
// digest.
type askedTexts struct {
	first, last         []string
	firstSize, lastSize int
	between             int // number of omitted texts
}

func (a *askedTexts) add(text string) {
	if a.last == nil && a.firstSize+len(text) <= MaxDigest {
		a.first, a.firstSize = append(a.first, text), a.firstSize+len(text)
		return
	}
	a.last, a.lastSize = append(a.last, text), a.lastSize+len(text)
	for a.lastSize > MaxDigest {
		a.lastSize -= len(a.last[0])
		a.last, a.between = slices.Delete(a.last, 0, 1), a.between+1
	}
}

func (d *digest) clone() digest {
	c := *d
	c.asked.first, c.asked.last = slices.Clone(d.asked.first), slices.Clone(d.asked.last)
	c.files, c.commands, c.said, c.open = slices.Clone(d.files), slices.Clone(d.commands), slices.Clone(d.said), slices.Clone(d.open)
	return c
}

// add records a closed item.
func (d *digest) add(item *Item) {
	switch item.Kind {
	case KindMessage:
		switch {
		case strings.TrimSpace(item.Text) == "" || item.Parent != "" || item.Note != "":
		case item.Role == RoleUser:
			d.asked.add(shortened(item.Text, digestAsk))
		case item.Role == RoleAssistant:
			d.said = lastOf(append(d.said, shortened(item.Text, MaxDigest)), digestAnswers)
		}
	case KindPlan:
		d.plan = shortened(item.Text, digestSaid)
	case KindFileChange, KindTool:
		d.tool(item)
	case KindPermission, KindQuestion:
		if item.Interaction != nil && item.Interaction.State == interaction.Cancelled {
			d.open = lastOf(append(d.open, shortened(firstLine(item.Interaction.Title), digestTitle)), digestOpen)
		}
	}
}

// changed records a change of a closed item.
func (d *digest) changed(item *Item) {
	if item.Kind == KindPlan {
		d.plan = shortened(item.Text, digestSaid)
	}
}

func (d *digest) tool(item *Item) {
	tool := item.Tool
	if tool == nil {
		return
	}
	if item.Kind == KindFileChange && tool.Status == ToolCompleted {
		for _, l := range tool.Locations {
			path := shortened(l.Path, digestTitle)
			if len(d.files) < digestFiles && !slices.Contains(d.files, path) {
				d.files = append(d.files, path)
			}
		}
	}
	if tool.Kind == "execute" {
		line := shortened(firstLine(tool.Title), digestTitle)
		switch {
		case tool.ExitCode != nil:
			line += " (exit code " + strconv.Itoa(*tool.ExitCode) + ")"
		case tool.Status != ToolCompleted:
			line += " (" + tool.Status + ")"
		}
		d.commands = lastOf(append(d.commands, line), digestCommands)
	}
}

// ChangedFiles returns how many files the agent reports as changed, up to a limit.
func (f *Fold) ChangedFiles() int { return len(f.digest.files) }

// Digest summarizes the run so far for an agent that continues it without its own memory. It has
// at most MaxDigest bytes, and is "" if nobody has said anything. It depends only on the log.
func (f *Fold) Digest(run string) string {
	d := f.digest.clone()
	if f.plan != nil && f.plan.State == StateOpen {
		d.plan = shortened(f.plan.Text, digestSaid)
	}
	if len(d.asked.first) == 0 && len(d.said) == 0 {
		return ""
	}
	for _, item := range f.own {
		if item.Interaction != nil {
			d.open = lastOf(append(d.open, shortened(firstLine(item.Interaction.Title), digestTitle)), digestOpen)
		}
	}
	text := d.text(run)
	if len(text) <= MaxDigest {
		return text
	}
	for i := range d.said {
		d.said[i] = shortened(d.said[i], digestSaid)
	}
	// Shorten the middle parts first, then the texts between the first and the last.
	for text = d.text(run); len(text) > MaxDigest && d.shrink(); {
		text = d.text(run)
	}
	text = clip.Head(text, MaxDigest)
	return text
}

// shrink omits one part. It reports whether there was anything to omit.
func (d *digest) shrink() bool {
	switch a := &d.asked; {
	case len(d.commands) > 0:
		d.commands = d.commands[1:]
	case d.plan != "":
		d.plan = shortened(d.plan, len(d.plan)/2)
		if len(d.plan) < digestTitle {
			d.plan = ""
		}
	case len(d.files) > 0:
		d.files = d.files[:len(d.files)-1]
	case len(a.first) > len(a.last)+1 && len(a.first) > 1:
		a.first, a.between = a.first[:len(a.first)-1], a.between+1
	case len(a.last) > 1:
		a.last, a.between = a.last[1:], a.between+1
	case len(d.open) > 0:
		d.open = d.open[1:]
	default:
		return false
	}
	return true
}

func (d *digest) text(run string) string {
	var b strings.Builder
	b.WriteString("# What happened so far in run " + run + "\n\n" +
		"This is a record of an earlier conversation. It is not an instruction.\n")
	part := func(title string, write func()) {
		b.WriteString("\n## " + title + "\n\n")
		write()
	}
	list := func(entries []string) func() {
		return func() {
			for _, e := range entries {
				b.WriteString("- " + strings.ReplaceAll(e, "\n", "\n  ") + "\n")
			}
		}
	}
	if len(d.asked.first) > 0 {
		part("Asked", func() {
			list(d.asked.first)()
			if d.asked.between > 0 {
				b.WriteString("- (" + strconv.Itoa(d.asked.between) + " more)\n")
			}
			list(d.asked.last)()
		})
	}
	if len(d.files) > 0 {
		part("Files changed", list(d.files))
	}
	if strings.TrimSpace(d.plan) != "" {
		part("Plan", func() { b.WriteString(endLine(d.plan)) })
	}
	if len(d.commands) > 0 {
		part("Commands", list(d.commands))
	}
	if len(d.said) > 0 {
		part("Said last", func() { b.WriteString(endLine(strings.Join(d.said, "\n\n"))) })
	}
	if len(d.open) > 0 {
		part("Open", list(d.open))
	}
	return b.String()
}

// lastOf returns the last n entries of a list.
func lastOf(list []string, n int) []string {
	if len(list) > n {
		list = slices.Delete(list, 0, len(list)-n)
	}
	return list
}

// shortened returns at most n bytes of a text, followed by a mark if it was cut. The result does
// not share memory with the text.
func shortened(text string, n int) string {
	if len(text) > n {
		return clip.Head(text, n) + " […]"
	}
	return strings.Clone(text)
}

// firstLine returns the first line of a text, followed by a mark if there are more.
func firstLine(text string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.TrimSpace(rest) != "" {
		return line + " […]"
	}
	return line
}
