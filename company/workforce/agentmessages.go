package workforce

// The messages of an agent: those in conversations in which it participates, and those that
// mention it. This machine records which messages it has read.

import (
	"cmp"
	"context"
	"slices"

	"ac/company"
	"ac/conversation"
	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// AgentMessagesParams select messages of an agent.
type AgentMessagesParams struct {
	company.AsAgent
	UnreadOnly bool `json:"unread_only" is:"default=true"`
	Limit      int  `json:"limit" is:"default=20,min=1,max=100"`
	MarkRead   bool `json:"mark_read" is:"default=true"`
}

// AgentMessages are messages for an agent.
type AgentMessages struct {
	Messages []AgentMessage `json:"messages"` // oldest first
	More     bool           `json:"more"`     // the limit left out messages
}

// AgentMessage is a message as its reader sees it.
type AgentMessage struct {
	ID           string `json:"id"`
	Conversation string `json:"conversation"`
	From         string `json:"from"`
	At           string `json:"at"`
	Body         string `json:"body"`
}

// AgentMessages lists messages for an agent: the oldest unread ones, or the newest of all. With
// MarkRead, they are recorded as read when it returns.
func (c Operations) AgentMessages(ctx context.Context, p AgentMessagesParams) (AgentMessages, error) {
	result := AgentMessages{Messages: []AgentMessage{}}
	_, actor, err := c.ActingAgent(p.AsAgent)
	if err != nil {
		return result, err
	}
	reader := conversation.Actor{ID: actor.ID, Role: actor.Role, Team: actor.Team}
	read, err := c.ReadPositions(p.AgentID)
	if err != nil {
		return result, err
	}
	list, err := c.messagesFor(reader, p, read)
	if err != nil {
		return result, err
	}
	if result.More = len(list) > p.Limit; result.More && p.UnreadOnly {
		list = list[:p.Limit]
	} else if result.More {
		list = list[len(list)-p.Limit:]
	}
	for _, m := range list {
		result.Messages = append(result.Messages, AgentMessage{m.ID, m.ConversationID, m.AuthorID, m.CreatedAt, m.Body})
	}
	if p.MarkRead && len(list) > 0 {
		err = c.RecordRead(ctx, p.AgentID, list)
	}
	return result, err
}

// messagesFor collects messages from all conversations, oldest first.
func (c Operations) messagesFor(reader conversation.Actor, p AgentMessagesParams, read map[string]string) (list []doc.Message, err error) {
	projects, err := workspace.Dirs(c.Workspace().FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	places := []conversation.Space{{}}
	for _, project := range projects {
		places = append(places, conversation.Space{Project: project})
	}
	for _, place := range places {
		conversations, err := conversation.List(c.Workspace(), place)
		if err != nil {
			return nil, err
		}
		for _, conv := range conversations {
			if !conversation.Admits(conv, reader) {
				continue
			}
			messages, err := conversation.Newest(c.Workspace(), place, conv.ID, company.NewestMessages)
			if err != nil {
				return nil, err
			}
			list = append(list, filterMessages(messages, reader, takesPart(conv, reader), p.UnreadOnly, read[conv.ID])...)
		}
	}
	slices.SortStableFunc(list, func(a, b doc.Message) int {
		at, _ := clock.Parse(a.CreatedAt)
		bt, _ := clock.Parse(b.CreatedAt)
		return cmp.Or(at.Compare(bt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// takesPart reports whether a reader or its team participates in a conversation.
func takesPart(c doc.Conversation, reader conversation.Actor) bool {
	return slices.Contains(c.Participants.AgentIDs, reader.ID) || reader.Team != "" && slices.Contains(c.Participants.TeamIDs, reader.Team)
}

// filterMessages returns the messages of one conversation that a reader receives: all of them if it
// takes part, otherwise those that mention it. The reader's own messages are never unread.
func filterMessages(messages []doc.Message, reader conversation.Actor, takesPart, unread bool, last string) (list []doc.Message) {
	if unread {
		at := slices.IndexFunc(messages, func(m doc.Message) bool { return m.ID == last })
		messages = messages[at+1:]
	}
	for _, m := range messages {
		counts := !unread || m.AuthorID != reader.ID
		if counts && (takesPart || slices.Contains(m.Mentions, reader.ID)) {
			list = append(list, m)
		}
	}
	return list
}
