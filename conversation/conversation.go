// Package conversation implements conversations of people and agents: channels, direct messages,
// and their logs.
//
// A conversation is a directory with conversation.yaml and messages.jsonl. The directory
// determines where its messages are. A document that does not fit its directory is not a
// conversation, and never redirects a read or a write.
package conversation

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/collation"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Scopes.
const (
	ScopeWorkspace = "workspace"
	ScopeProject   = "project"
)

// Space is where conversations belong: a project, or the workspace if Project is empty.
type Space struct{ Project string }

// Scope returns the scope of the conversations in the space.
func (p Space) Scope() string {
	if p.Project == "" {
		return ScopeWorkspace
	}
	return ScopeProject
}

// Dir returns the directory of a conversation.
func (p Space) Dir(id string) string {
	switch {
	case p.Project != "":
		return workspace.ProjectConversationDir(p.Project, id)
	case id == workspace.HomeID:
		return workspace.HomeDir
	}
	return path.Join(workspace.ConversationsDir, id)
}

func (p Space) file(id string) string { return path.Join(p.Dir(id), workspace.ConversationFile) }

func (p Space) messages(id string) string { return path.Join(p.Dir(id), workspace.MessagesFile) }

// exists returns an error for an unknown project.
func (p Space) exists(w *workspace.Workspace) error {
	if p.Project == "" {
		return nil
	}
	_, err := w.Project(p.Project)
	return err
}

// Get reads a conversation. If it is missing or does not fit its directory, the error is
// fault.NotFound.
func Get(w *workspace.Workspace, p Space, id string) (doc.Conversation, error) {
	c, err := get(p, id, func(name string) (doc.Conversation, error) { return workspace.Load(w, doc.ConversationCodec, name) })
	if err != nil {
		return c, &fault.Error{Reason: fault.NotFound, Message: "conversation " + id + " does not exist here", Cause: err}
	}
	return c, nil
}

func get(p Space, id string, load func(name string) (doc.Conversation, error)) (doc.Conversation, error) {
	c, err := load(p.file(id))
	if err != nil {
		return c, err
	}
	if c.Scope != p.Scope() || c.ProjectID != p.Project {
		return c, fault.New(fault.InvalidFile, "%s belongs to another conversation", p.file(id))
	}
	return c, workspace.CheckID(p.file(id), id, c.ID)
}

// List lists the conversations of a space in groups: home, executive office, planning council,
// executive meeting, channels, direct messages, others. Within each group it sorts by name. It
// skips unreadable documents.
func List(w *workspace.Workspace, p Space) ([]doc.Conversation, error) {
	all, err := list(w, p, func(name string) (doc.Conversation, error) { return workspace.Load(w, doc.ConversationCodec, name) })
	if err != nil {
		return nil, err
	}
	collation.SortBy(all, func(c doc.Conversation) string { return c.Name }, func(c doc.Conversation) string { return c.ID })
	slices.SortStableFunc(all, func(a, b doc.Conversation) int { return cmp.Compare(slugRank(a), slugRank(b)) })
	return all, nil
}

func list(w *workspace.Workspace, p Space, load func(name string) (doc.Conversation, error)) ([]doc.Conversation, error) {
	ids, err := workspace.Dirs(w.FS, path.Dir(p.Dir("any")))
	if err != nil {
		return nil, err
	}
	if p.Project == "" {
		// A directory with the home's id among the others is not a
		// conversation.
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == workspace.HomeID })
		ids = append(ids, workspace.HomeID)
	}
	all := []doc.Conversation{}
	for _, id := range ids {
		if c, err := get(p, id, load); err == nil {
			all = append(all, c)
		}
	}
	return all, nil
}

func slugRank(c doc.Conversation) int {
	switch {
	case c.Slug == slugHome:
		return 0
	case c.ID == workspace.ExecutiveOfficeID, c.ProjectID != "" && c.ID == workspace.ProjectOfficeID(c.ProjectID):
		return 1
	case c.ProjectID != "" && c.ID == workspace.PlanningCouncilID(c.ProjectID):
		return 2
	case c.Slug == slugExecutives:
		return 3
	case c.Kind == "channel":
		return 4
	case c.Kind == "dm":
		return 5
	}
	return 6
}

// Slugs of default conversations.
const (
	slugHome       = "home"
	slugExecutives = "executive-meeting"
)

// Channel describes a new channel.
type Channel struct {
	Name, Slug, Visibility, CreatedBy string
	AgentIDs, TeamIDs                 []string // members; they need not exist
}

// CreateChannel creates a channel, which is durable on return. Names need not be unique. The
// slugs of default conversations are reserved (fault.Conflict).
func CreateChannel(ctx context.Context, w *workspace.Workspace, p Space, ch Channel) (doc.Conversation, error) {
	if ch.Slug == slugHome || p.Project != "" && ch.Slug == slugExecutives {
		return doc.Conversation{}, fault.New(fault.Conflict, "the slug %s is reserved for a default conversation; choose another", ch.Slug)
	}
	var made doc.Conversation
	err := w.Update(ctx, func(u *workspace.Unit) (err error) {
		made, err = create(u, p, doc.Conversation{
			Kind: "channel", Name: ch.Name, Slug: ch.Slug, Visibility: ch.Visibility, CreatedBy: ch.CreatedBy,
			Participants: doc.Participants{AgentIDs: unique(ch.AgentIDs), TeamIDs: unique(ch.TeamIDs)},
		})
		return err
	})
	return made, err
}

// CreateDM returns the direct messages between two actors, whichever of them started them. It
// creates them if there are none.
func CreateDM(ctx context.Context, w *workspace.Workspace, p Space, createdBy, peer, visibility string) (doc.Conversation, error) {
	var made doc.Conversation
	err := w.Update(ctx, func(u *workspace.Unit) error {
		all, err := list(w, p, func(name string) (doc.Conversation, error) { return workspace.LoadIn(u, doc.ConversationCodec, name) })
		if err != nil {
			return err
		}
		for _, c := range all {
			if c.Kind == "dm" && (c.CreatedBy == createdBy && c.DMPeerAgentID == peer || c.CreatedBy == peer && c.DMPeerAgentID == createdBy) {
				made = c
				return p.exists(w)
			}
		}
		made, err = create(u, p, doc.Conversation{
			Kind: "dm", Name: "DM: " + peer, Slug: "dm-" + peer, Visibility: visibility, CreatedBy: createdBy, DMPeerAgentID: peer,
			Participants: doc.Participants{AgentIDs: unique([]string{createdBy, peer}), TeamIDs: []string{}},
		})
		return err
	})
	return made, err
}

func create(u *workspace.Unit, p Space, c doc.Conversation) (doc.Conversation, error) {
	w := u.Workspace()
	if err := p.exists(w); err != nil {
		return c, err
	}
	c.SchemaVersion, c.Type, c.ID = doc.Version, "conversation", w.Env.IDs.New("conv")
	c.Scope, c.ProjectID, c.CreatedAt = p.Scope(), p.Project, clock.Stamp(w.Env.Clock.Now())
	text, err := doc.ConversationCodec.Encode(c)
	if err != nil {
		return c, err
	}
	return c, u.Create(p.Dir(c.ID), workspace.Tree{Files: []workspace.TreeFile{
		{Name: workspace.ConversationFile, Content: text}, {Name: workspace.MessagesFile},
	}})
}

// unique removes duplicates and preserves the order.
func unique(ids []string) []string {
	kept := []string{}
	for _, id := range ids {
		if !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// Actor is a reader or an author.
type Actor struct{ ID, Role, Team string }

// Admits reports whether an actor may read a conversation and write to it.
func Admits(c doc.Conversation, a Actor) bool {
	switch {
	case a.Role == "human" || a.Role == "ceo", c.Visibility == "org":
		return true
	case c.Visibility == "managers" && (a.Role == "director" || a.Role == "manager"):
		return true
	case slices.Contains(c.Participants.AgentIDs, a.ID), c.CreatedBy == a.ID:
		return true
	}
	return a.Team != "" && slices.Contains(c.Participants.TeamIDs, a.Team)
}

// author returns the effective actor. For an agent of the company, its document determines the
// role, not its claim.
func author(w *workspace.Workspace, id, claimed string) (Actor, error) {
	if !workspace.SafeID(id) {
		return Actor{ID: id, Role: claimed}, nil
	}
	agent, err := w.Agent(id)
	switch {
	case fault.Is(err, fault.NotFound):
		return Actor{ID: id, Role: claimed}, nil
	case err != nil:
		return Actor{}, err
	case agent.Role == "worker" && claimed != "worker":
		return Actor{}, fault.New(fault.Denied, "%s is a worker and cannot write as %s", id, claimed)
	}
	return Actor{ID: id, Role: agent.Role, Team: agent.TeamID}, nil
}

// Body returns the text of a message as it is stored.
func Body(text string) string { return strings.TrimSpace(text) }
