package company

// Read positions: the last message that an agent or person has read in each conversation.

import (
	"context"
	"encoding/json"
	"maps"

	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// NewestMessages is how many of the newest messages of a conversation are read.
const NewestMessages = 200

// positions is the content of .local/mcp/<agent_id>.json: the last message that an agent has read
// in each conversation.
type positions struct {
	Version int               `json:"version"`
	Read    map[string]string `json:"read"`
}

// ReadPositions returns the last message that an agent has read in each conversation. An invalid
// file counts as empty: messages are shown twice rather than never.
func (c *Company) ReadPositions(agent string) (map[string]string, error) {
	text, err := c.w.Read(workspace.ReadPositionsFile(agent))
	if fault.Is(err, fault.NotFound) {
		return map[string]string{}, nil
	}
	var p positions
	if err == nil && (json.Unmarshal(text, &p) != nil || p.Read == nil) {
		p.Read = map[string]string{}
	}
	return p.Read, err
}

// RecordRead records that an agent has read messages, which must be in order.
func (c *Company) RecordRead(ctx context.Context, agent string, list []doc.Message) error {
	return c.w.Update(ctx, func(u *workspace.Unit) error {
		read, err := c.ReadPositions(agent)
		if err != nil {
			return err
		}
		now := maps.Clone(read)
		for _, m := range list {
			now[m.ConversationID] = m.ID
		}
		if maps.Equal(read, now) {
			return nil
		}
		text, err := json.Marshal(positions{1, now})
		if err != nil {
			return err
		}
		return u.Write(workspace.ReadPositionsFile(agent), append(text, '\n'), 0o600)
	})
}
