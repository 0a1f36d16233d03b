package doc

// A line of messages.jsonl.

import (
	"bytes"
	"encoding/json"
	"errors"

	"ac/internal/canonjson"
	"ac/internal/param"
	"ac/internal/yamldoc"
)

// Message is one message of a conversation.
type Message struct {
	_              struct{} `is:"strict"`
	SchemaVersion  int      `json:"schema_version" is:"min=1"`
	Type           string   `json:"type" is:"enum=message"`
	ID             string   `json:"id"`
	ConversationID string   `json:"conversation_id"`
	ProjectID      string   `json:"project_id,omitempty" is:"optional"`
	CreatedAt      string   `json:"created_at" is:"time"`
	AuthorID       string   `json:"author_id"`
	AuthorRole     string   `json:"author_role" is:"enum=human|ceo|director|manager|worker"`
	Kind           string   `json:"kind" is:"default=text,enum=text|system|report"`
	Visibility     string   `json:"visibility" is:"enum=private_agent|team|managers|org"`
	Body           string   `json:"body"`
	Mentions       []string `json:"mentions" is:"default="`
}

// ParseMessage reads a line; the error says why it is no message.
func ParseMessage(line []byte) (Message, error) {
	end, err := canonjson.Value(line, 0)
	if err != nil {
		return Message{}, err
	}
	if len(bytes.TrimSpace(line[end:])) > 0 {
		return Message{}, errors.New("more than one value on the line")
	}
	value := param.Parse(line)
	return messageCodec.Bind(&value)
}

var messageCodec = yamldoc.For[Message]()

// Line writes a message as a line, its LF included.
func (m Message) Line() ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(m)
	return line.Bytes(), err
}
