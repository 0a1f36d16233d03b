package workforce

// Conversations in lists for people: with the newest message and the number of unread ones.

import (
	"context"
	"slices"

	"ac/company"
	"ac/conversation"
	"ac/workspace/doc"
)

// TalkRowsParams select conversations: those of a project and of the workspace, or only those of
// the workspace if no project is given. ActorID is the reader.
type TalkRowsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"optional,id"`
	ActorID   string `json:"actor_id" is:"id"`
}

// TalkRow is a conversation in a list for people. Unknown fields are null.
type TalkRow struct {
	ConversationID string  `json:"conversation_id"`
	ProjectID      *string `json:"project_id"` // null for conversations of the workspace
	Kind           string  `json:"kind"`
	Name           string  `json:"name"`
	LastAt         *string `json:"last_at"`
	LastBy         *string `json:"last_by"`
	Unread         int     `json:"unread"` // among the newest 200 messages

	Slug string `json:"-"`
}

// TalkRows lists conversations, those of the project first. It creates none.
func (c Operations) TalkRows(_ context.Context, p TalkRowsParams) ([]TalkRow, error) {
	rows := []TalkRow{}
	read, err := c.ReadPositions(p.ActorID)
	if err != nil {
		return rows, err
	}
	places := []conversation.Space{{}}
	if p.ProjectID != "" {
		places = []conversation.Space{{Project: p.ProjectID}, {}}
	}
	for _, place := range places {
		list, err := conversation.List(c.Workspace(), place)
		if err != nil {
			return rows, err
		}
		for _, conv := range list {
			messages, err := conversation.Newest(c.Workspace(), place, conv.ID, company.NewestMessages)
			if err != nil {
				return rows, err
			}
			row := TalkRow{ConversationID: conv.ID, ProjectID: company.OrNil(conv.ProjectID), Kind: conv.Kind, Name: conv.Name, Slug: conv.Slug}
			row.count(messages, p.ActorID, read[conv.ID])
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// count sets the newest message and the number of unread ones. The reader's own messages count as
// read.
func (r *TalkRow) count(messages []doc.Message, reader, last string) {
	if len(messages) == 0 {
		return
	}
	newest := messages[len(messages)-1]
	r.LastAt, r.LastBy = &newest.CreatedAt, &newest.AuthorID
	at := slices.IndexFunc(messages, func(m doc.Message) bool { return m.ID == last })
	for _, m := range messages[at+1:] {
		if m.AuthorID != reader {
			r.Unread++
		}
	}
}

// MarkReadParams identify the newest message that an actor has read.
type MarkReadParams struct {
	company.Dir
	ActorID string `json:"actor_id" is:"id"`
	Message doc.Message
}

// MarkRead records that an actor has read a conversation up to a message. The record is durable
// on return.
func (c Operations) MarkRead(ctx context.Context, p MarkReadParams) (company.OK, error) {
	return company.OK{OK: true}, c.RecordRead(ctx, p.ActorID, []doc.Message{p.Message})
}
