package source

// The messages of a conversation, read like a log.

import (
	"ac/events"
	"ac/workspace/doc"
)

// MessageLine is a message to be inserted.
type MessageLine struct {
	seq     int64
	at      int64
	message doc.Message
}

// message adds the message of a line. It skips a line that is not a message; the line still has
// a seq.
func (b *Batch) message(line events.Line) {
	if line.Long {
		return
	}
	m, err := doc.DecodeMessage(line.Raw)
	if err != nil {
		return
	}
	at, _ := parseTime(m.CreatedAt)
	b.Lines = append(b.Lines, MessageLine{line.Seq, at, m})
}

// Values returns the columns of its row, after the ID of its conversation.
func (m MessageLine) Values() []any {
	d := &m.message
	return []any{m.seq, d.ID, Nullable(d.ProjectID), d.CreatedAt, m.at, d.AuthorID, d.AuthorRole, d.Kind, d.Visibility, d.Body, jsonList(d.Mentions)}
}
