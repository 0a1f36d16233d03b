package doc

// Messages: the lines of a messages.jsonl.

import (
	"bytes"
	"encoding/json"
	"errors"

	"ac/internal/canonjson"
	"ac/internal/param"
	"ac/internal/yamldoc"
)

// Message is one line of a messages.jsonl.
type Message struct {
	_              struct{} `is:"strict"`
	SchemaVersion  int      `json:"schema_version" is:"min=1"`
	Type           string   `json:"type" is:"enum=message"`
	ID             string   `json:"id"`
	ConversationID string   `json:"conversation_id"`
	ProjectID      string   `json:"project_id,omitempty" is:"optional"`
	CreatedAt      string   `json:"created_at" is:"time"`
	AuthorID       string   `json:"author_id"`
	AuthorRole     string   `json:"author_role" is:"role"`
	Kind           string   `json:"kind" is:"default=text,enum=text|system|report"`
	Visibility     string   `json:"visibility" is:"visibility"`
	Body           string   `json:"body"`
	Mentions       []string `json:"mentions" is:"default="`
}

// MessageCodec decodes messages.
var MessageCodec = yamldoc.For[Message]()

// DecodeMessage decodes one line of a messages.jsonl.
func DecodeMessage(line []byte) (Message, error) {
	line = bytes.TrimSpace(line)
	if end, err := canonjson.Value(line, 0); err != nil {
		return Message{}, err
	} else if end != len(line) {
		return Message{}, errors.New("more than one JSON value in the line")
	}
	value := param.Parse(line)
	return MessageCodec.Bind(&value)
}

// Line encodes a message as one line, with LF.
func (m Message) Line() ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(m)
	return line.Bytes(), err
}
