// Package conversation is what people and agents say to each other: channels,
// direct messages, and their logs.
//
// A conversation is a directory with conversation.yaml and messages.jsonl. Where
// it lies decides where its messages are: a document that does not fit its
// directory is none, and never sends a read or a write elsewhere.
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

// Space is where conversations lie: a project, or with Project empty the
// workspace.
type Space struct{ Project string }

// Scope is the scope of the conversations in the space.
func (p Space) Scope() string {
	if p.Project == "" {
		return ScopeWorkspace
	}
	return ScopeProject
}

// Dir is the directory of a conversation.
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

// exists tells a project that is not there from one without conversations.
func (p Space) exists(w *workspace.Workspace) error {
	if p.Project == "" {
		return nil
	}
	_, err := w.Project(p.Project)
	return err
}

// Get reads a conversation. One that is missing or does not fit its place is
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
		return c, fault.New(fault.InvalidFile, "%s belongs elsewhere", p.file(id))
	}
	return c, workspace.CheckID(p.file(id), id, c.ID)
}

// List lists the conversations of a space: home, executive office, planning
// council, executive meeting, channels,
// direct messages, the rest; by name within these. Documents that cannot be
// read are left out.
func List(w *workspace.Workspace, p Space) ([]doc.Conversation, error) {
	all, err := list(w, p, func(name string) (doc.Conversation, error) { return workspace.Load(w, doc.ConversationCodec, name) })
	if err != nil {
		return nil, err
	}
	collation.SortBy(all, func(c doc.Conversation) string { return c.Name }, func(c doc.Conversation) string { return c.ID })
	slices.SortStableFunc(all, func(a, b doc.Conversation) int { return cmp.Compare(rank(a), rank(b)) })
	return all, nil
}

func list(w *workspace.Workspace, p Space, load func(name string) (doc.Conversation, error)) ([]doc.Conversation, error) {
	ids, err := workspace.Dirs(w.FS, path.Dir(p.Dir("any")))
	if err != nil {
		return nil, err
	}
	if p.Project == "" {
		// A directory of the home's id among the others is none.
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

func rank(c doc.Conversation) int {
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

// The slugs of defaults.
const (
	slugHome       = "home"
	slugExecutives = "executive-meeting"
)

// Channel is what a new channel is made of.
type Channel struct {
	Name, Slug, Visibility, CreatedBy string
	AgentIDs, TeamIDs                 []string // who takes part; they need not exist
}

// CreateChannel makes a channel, which is durable when it returns. Two channels
// may have one name; the slugs of the defaults are taken (fault.Conflict).
func CreateChannel(ctx context.Context, w *workspace.Workspace, p Space, ch Channel) (doc.Conversation, error) {
	if ch.Slug == slugHome || p.Project != "" && ch.Slug == slugExecutives {
		return doc.Conversation{}, fault.New(fault.Conflict, "the slug %s belongs to a conversation that is always there; take another one", ch.Slug)
	}
	var made doc.Conversation
	err := w.Update(ctx, func(u *workspace.Unit) (err error) {
		made, err = create(u, p, doc.Conversation{
			Kind: "channel", Name: ch.Name, Slug: ch.Slug, Visibility: ch.Visibility, CreatedBy: ch.CreatedBy,
			Participants: doc.Participants{AgentIDs: once(ch.AgentIDs), TeamIDs: once(ch.TeamIDs)},
		})
		return err
	})
	return made, err
}

// CreateDM makes the conversation of two, or gives the one that they have,
// whoever of them began it.
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
			Participants: doc.Participants{AgentIDs: once([]string{createdBy, peer}), TeamIDs: []string{}},
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

// once drops repetitions and keeps the order.
func once(ids []string) []string {
	kept := []string{}
	for _, id := range ids {
		if !slices.Contains(kept, id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// Actor is who wants to see a conversation or to speak in it.
type Actor struct{ ID, Role, Team string }

// Admits reports whether an actor may see a conversation and speak in it.
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

// author is who an actor is taken for: an agent of the company is what its
// document says, whatever it claims.
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

// Body is the text of a message as it is stored.
func Body(text string) string { return strings.TrimSpace(text) }
