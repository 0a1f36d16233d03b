package transcript

// The last line of an item, for lists with one line a run.

import (
	"strings"

	"ac/internal/clip"
)

// spoken is the last line of a run as far as it stands in items that are over.
type spoken struct {
	line, at string
	number   int // of the item
}

// maxLastLine bounds a last line, in bytes.
const maxLastLine = 240

// LastLine returns the last line that says something of what the agent said or did in an
// item: of a tool its title, of a text its last line that is not blank. It is "" for an
// item of people and for usage.
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

// LastLine returns the newest line that says something of what the agent said or did in the
// run, and when: the beginning of an item that is open, the end of one that is over. Both are
// "" before there is one.
func (f *Fold) LastLine() (line, at string) {
	newest := f.spoken
	look := func(items []*Item) {
		for _, item := range items {
			if item.number < newest.number {
				continue
			}
			if line := LastLine(item); line != "" {
				newest = spoken{line, item.StartedAt, item.number}
			}
		}
	}
	look(f.own)
	if f.session != nil {
		look(f.session.items)
	}
	return newest.line, newest.at
}

// hear keeps the last line of an item that is over.
func (f *Fold) hear(item *Item) {
	if item.number < f.spoken.number {
		return
	}
	if line := LastLine(item); line != "" {
		f.spoken = spoken{line, item.EndedAt, item.number}
	}
}
