package validate

// The lines of a conversation. Their problems are only warnings.

import (
	"bytes"
	"errors"
	"fmt"

	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

const (
	// maxMessages bounds the size in bytes of the message files that are checked.
	maxMessages = 64 << 20
	// maxBadLines bounds the bad lines that are listed individually for a file.
	maxBadLines = 5
)

// messagesKind checks every line of a messages.jsonl. Readers skip invalid lines, which stay
// in the file.
func messagesKind(conversation string) kind {
	return kind{unreadable: "read_error", lenient: true, limit: maxMessages, judge: func(file string, text []byte) (d finding) {
		number, bad := 0, 0
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			number++
			code, why := messageFault(line, conversation)
			if code == "" {
				continue
			}
			if bad++; bad <= maxBadLines {
				d.issue(code, file, fmt.Sprintf("line %d: %s", number, why))
			}
		}
		if bad > maxBadLines {
			d.issue("schema_invalid", file, fmt.Sprintf("%d more lines are no messages", bad-maxBadLines))
		}
		return d
	}}
}

func messageFault(line []byte, conversation string) (code, why string) {
	if len(bytes.TrimSpace(line)) == 0 {
		return "", ""
	}
	m, err := doc.DecodeMessage(line)
	misfit, ok := errors.AsType[*yamldoc.SchemaError](err)
	switch {
	case ok:
		return "schema_invalid", misfit.Error()
	case err != nil:
		return "parse_error", "not JSON"
	case m.ConversationID != conversation:
		return "id_mismatch", "carries the conversation_id " + m.ConversationID + " instead of " + conversation
	}
	return "", ""
}
