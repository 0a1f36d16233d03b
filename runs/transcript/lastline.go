package transcript

// The last line of an item, for lists that show one line for each run.

import (
	"strings"

	"ac/internal/clip"
)

// lastLine is the last line of a run among its closed items.
type lastLine struct {
	line, at string
	number   int // of the item
}

// maxLastLine bounds a last line, in bytes.
const maxLastLine = 240

// LastLine returns the last line, not blank, of what the agent said or did in an item. For a tool
// it is the title. It is "" for items of people and for usage.
func LastLine(i *Item) string {
	text := i.Text
	switch {
	case i.Role == RoleUser || i.Kind == KindUsage:
		return ""
	case i.Tool != nil:
		text = firstOf(i.Tool.Title, i.Tool.Name)
	case i.Interaction != nil:
		text = i.Interaction.Title
	}
	text = strings.TrimSpace(text)
	if at := strings.LastIndexAny(text, "\r\n"); at >= 0 {
		text = text[at+1:]
	}
	line := clip.Head(strings.TrimSpace(text), maxLastLine)
	return line
}

// LastLine returns the newest line, not blank, of what the agent said or did in the run, and its
// time. That is the start of an open item or the end of a closed one. Both are "" before the
// first.
func (f *Fold) LastLine() (line, at string) {
	newest := f.lastLine
	look := func(items []*Item) {
		for _, item := range items {
			if item.number < newest.number {
				continue
			}
			if line := LastLine(item); line != "" {
				newest = lastLine{line, item.StartedAt, item.number}
			}
		}
	}
	look(f.own)
	if f.session != nil {
		look(f.session.items)
	}
	return newest.line, newest.at
}

// recordLastLine records the last line of a closed item.
func (f *Fold) recordLastLine(item *Item) {
	if item.number < f.lastLine.number {
		return
	}
	if line := LastLine(item); line != "" {
		f.lastLine = lastLine{line, item.EndedAt, item.number}
	}
}
