package workforce

// Conversations: channels, direct messages, and the messages in them.

import (
	"context"
	"slices"
	"strings"

	"ac/company"
	"ac/conversation"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// Scope selects the whole workspace or one project.
type Scope struct {
	Scope     string `json:"scope" is:"enum=workspace|project"`
	ProjectID string `json:"project_id,omitempty" is:"optional"`
}

// checkScope rejects a project scope without a project. In workspace scope, it ignores
// project_id.
func (s Scope) checkScope() []fault.Issue {
	problem := ""
	switch {
	case s.Scope == conversation.ScopeWorkspace:
	case s.ProjectID != "":
		problem = shape.CheckID(s.ProjectID)
	case s.Scope == conversation.ScopeProject:
		problem = "is required with scope project"
	}
	if problem == "" {
		return nil
	}
	return []fault.Issue{{Path: []any{"project_id"}, Code: "custom", Message: problem}}
}

func (s Scope) space() conversation.Space {
	if s.Scope != conversation.ScopeProject {
		return conversation.Space{}
	}
	return conversation.Space{Project: s.ProjectID}
}

// ConversationsParams are the params of conversation.list.
type ConversationsParams struct {
	company.Dir
	Scope
}

// CheckFields requires a project in project scope only.
func (p *ConversationsParams) CheckFields() []fault.Issue { return p.checkScope() }

// Conversations lists the conversations of a scope, after creating or updating
// the default ones.
func (c Operations) Conversations(ctx context.Context, p ConversationsParams) ([]doc.Conversation, error) {
	return conversations(ctx, c.Workspace(), p.space(), workspace.Leader{})
}

func conversations(ctx context.Context, w *workspace.Workspace, space conversation.Space, leader workspace.Leader) ([]doc.Conversation, error) {
	if err := ensureConversations(ctx, w, space, leader); err != nil {
		return nil, err
	}
	return conversation.List(w, space)
}

// ensureConversations creates or updates the default conversations.
func ensureConversations(ctx context.Context, w *workspace.Workspace, space conversation.Space, leader workspace.Leader) error {
	if space.Project == "" {
		return w.EnsureDefaults(ctx)
	}
	_, err := w.SyncProjectDefaults(ctx, space.Project, leader)
	return err
}

// ConversationNamesParams select the conversations of a project, or those of the workspace if no
// project is given.
type ConversationNamesParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"optional,id"`
}

// ConversationNames lists the existing conversations. Unlike Conversations, it writes nothing. It
// is for shell completion and lookup by name.
func (c Operations) ConversationNames(_ context.Context, p ConversationNamesParams) ([]doc.Conversation, error) {
	return conversation.List(c.Workspace(), conversation.Space{Project: p.ProjectID})
}

// CreateChannelParams are the params of conversation.create_channel.
type CreateChannelParams struct {
	company.Dir
	Scope
	Name                string   `json:"name"`
	Slug                string   `json:"slug"`
	Visibility          string   `json:"visibility" is:"default=team,visibility"`
	CreatedBy           string   `json:"created_by"`
	ParticipantAgentIDs []string `json:"participant_agent_ids" is:"optional"`
	ParticipantTeamIDs  []string `json:"participant_team_ids" is:"optional"`
	AgentIDs            []string `json:"agent_ids" is:"optional"`
	TeamIDs             []string `json:"team_ids" is:"optional"`
}

// CheckFields rejects blank names, and requires a project in project scope only.
func (p *CreateChannelParams) CheckFields() []fault.Issue {
	return slices.Concat(company.NotBlank("name", p.Name), company.NotBlank("slug", p.Slug), p.checkScope())
}

// CreateChannel creates a channel.
func (c Operations) CreateChannel(ctx context.Context, p CreateChannelParams) (doc.Conversation, error) {
	return conversation.CreateChannel(ctx, c.Workspace(), p.space(), conversation.Channel{
		Name: strings.TrimSpace(p.Name), Slug: strings.TrimSpace(p.Slug), Visibility: p.Visibility, CreatedBy: p.CreatedBy,
		AgentIDs: slices.Concat(p.ParticipantAgentIDs, p.AgentIDs), TeamIDs: slices.Concat(p.ParticipantTeamIDs, p.TeamIDs),
	})
}

// CreateDMParams are the params of conversation.create_dm.
type CreateDMParams struct {
	company.Dir
	Scope
	CreatedBy   string `json:"created_by"`
	PeerAgentID string `json:"peer_agent_id"`
	Visibility  string `json:"visibility" is:"default=private_agent,visibility"`
}

// CheckFields requires a project in project scope only.
func (p *CreateDMParams) CheckFields() []fault.Issue { return p.checkScope() }

// CreateDM returns the direct-message conversation of two actors, and creates it if missing.
func (c Operations) CreateDM(ctx context.Context, p CreateDMParams) (doc.Conversation, error) {
	return conversation.CreateDM(ctx, c.Workspace(), p.space(), p.CreatedBy, p.PeerAgentID, p.Visibility)
}

// MessagesParams are the params of conversation.messages.list.
type MessagesParams struct {
	company.Dir
	Scope
	ConversationID string `json:"conversation_id" is:"id"`
	Limit          int    `json:"limit" is:"default=300,min=1,cut=5000"`
}

// CheckFields requires a project in project scope only.
func (p *MessagesParams) CheckFields() []fault.Issue { return p.checkScope() }

// Messages lists the newest messages of a conversation, oldest first.
func (c Operations) Messages(_ context.Context, p MessagesParams) ([]doc.Message, error) {
	return conversation.Newest(c.Workspace(), p.space(), p.ConversationID, p.Limit)
}

// FollowMessagesParams are the params of the command conversation:follow.
type FollowMessagesParams struct {
	MessagesParams
	Deliver func(doc.Message) error `json:"-"`
}

// FollowMessages calls Deliver with each message sent to a conversation from now on, until ctx ends
// or Deliver fails.
func (c Operations) FollowMessages(ctx context.Context, p FollowMessagesParams) (company.OK, error) {
	return company.OK{OK: true}, conversation.Follow(ctx, c.Workspace(), p.space(), p.ConversationID, p.Limit, p.Deliver)
}

// SendParams are the params of conversation.message.send.
type SendParams struct {
	company.Dir
	Scope
	ConversationID string   `json:"conversation_id" is:"id"`
	AuthorID       string   `json:"author_id"`
	AuthorRole     string   `json:"author_role" is:"role"`
	Body           string   `json:"body" is:"maxbytes=1048576"`
	Kind           string   `json:"kind" is:"default=text,enum=text|system|report"`
	Visibility     string   `json:"visibility" is:"optional,visibility"`
	Mentions       []string `json:"mentions" is:"optional"`
}

// CheckFields requires a project in project scope only.
func (p *SendParams) CheckFields() []fault.Issue { return p.checkScope() }

// SendResult is the result of conversation.message.send.
type SendResult struct {
	Conversation doc.Conversation `json:"conversation"`
	Message      doc.Message      `json:"message"`
}

// Send sends a message to a conversation.
func (c Operations) Send(ctx context.Context, p SendParams) (SendResult, error) {
	conv, message, err := conversation.Send(ctx, c.Workspace(), p.space(), p.ConversationID, conversation.Draft{
		AuthorID: p.AuthorID, AuthorRole: p.AuthorRole, Body: p.Body, Kind: p.Kind, Visibility: p.Visibility, Mentions: p.Mentions,
	})
	return SendResult{conv, message}, err
}

// SyncMembersParams are the params of conversation.members.sync.
type SyncMembersParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	CEOActorID string `json:"ceo_actor_id" is:"optional"`
	ExecutiveManagerParam
}

// SyncMembersResult is the result of conversation.members.sync.
type SyncMembersResult struct {
	GlobalManagerID string   `json:"global_manager_agent_id"`
	SecretaryID     string   `json:"project_secretary_agent_id"`
	ConversationIDs []string `json:"conversation_ids"`
}

// SyncMembers brings the default conversations of a project up to date.
func (c Operations) SyncMembers(ctx context.Context, p SyncMembersParams) (result SyncMembersResult, err error) {
	result = SyncMembersResult{GlobalManagerID: workspace.GlobalManagerID, SecretaryID: workspace.SecretaryID(p.ProjectID)}
	executive, err := p.Executive(c.Workspace())
	if err != nil {
		return result, err
	}
	result.ConversationIDs, err = c.Workspace().SyncProjectDefaults(ctx, p.ProjectID, workspace.Leader{ActorID: p.CEOActorID, ExecutiveManager: executive, EnrolMembers: true})
	return result, err
}
