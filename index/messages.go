package index

// The messages of a conversation, read like a log.

import (
	"ac/events"
	"ac/workspace/doc"
)

// messageLine is a message to be inserted.
type messageLine struct {
	seq     int64
	at      int64
	message doc.Message
}

// message adds a line that is a message; others are counted and skipped.
func (b *logBatch) message(line events.Line) {
	if line.Long {
		return
	}
	m, err := doc.DecodeMessage(line.Raw)
	if err != nil {
		return
	}
	at, _ := parseTime(m.CreatedAt)
	b.lines = append(b.lines, messageLine{line.Seq, at, m})
}
