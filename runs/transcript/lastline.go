package transcript

// The last line of an item, for lists with one line a run.

import "strings"

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
	line, _ := head(strings.TrimSpace(text), maxLastLine)
	return line
}
