package workspace

// Documents that validation only warns of: comments, jobs, messages.

import (
	"bytes"
	"errors"
	"fmt"
	"path"

	"ac/internal/yamldoc"
	"ac/workspace/doc"
)

// mapping is a document of which nothing is asked but that it can be read.
type mapping struct{}

var mappingCodec = yamldoc.For[mapping]()

func commentKind() kind {
	return lenient(yamlKind(doc.CommentCodec, func(d *finding, file string, c doc.Comment) { d.carries(file, stem(file), c.ID) }))
}

func jobKind() kind {
	return lenient(yamlKind(doc.JobCodec, func(d *finding, file string, j doc.Job) {
		d.carries(file, path.Base(path.Dir(file)), j.Job.JobID)
		d.within(file, projectOf(file), j.Job.ProjectID)
	}))
}

const (
	// maxMessages bounds the message files that are looked into.
	maxMessages = 64 << 20
	// maxBadLines is how many bad lines of a file are told one by one.
	maxBadLines = 5
)

// messagesKind looks at every line of a messages.jsonl. Lines that do not fit
// are passed over by readers and stay in the file.
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
