package workspace

// The default conversations of each project (its home, the executive meeting, and a channel
// for each team) and its secretary. They follow the org: each read computes their members and
// writes them if they differ.

import (
	"context"
	"path"
	"reflect"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// The files of a conversation.
const (
	ConversationFile = "conversation.yaml"
	MessagesFile     = "messages.jsonl"
)

// Leader names the actors who lead the conversations of a project. If ActorID is set, only that
// actor leads. Otherwise each conversation keeps its leaders, and a new one gets the leaders
// of the project's home, else FallbackID, else DefaultCEO.
type Leader struct {
	ActorID, FallbackID string
	// ExecutiveManager is the agent who leads alongside them. If empty, it is the company's
	// Executive Manager.
	ExecutiveManager string
	// EnrolMembers adds the due members to the home of the workspace. Reads do not set it.
	EnrolMembers bool
}

// due returns the members that the home of the workspace should have.
func (l Leader) due() []string {
	if given := strings.TrimSpace(l.ActorID); given != "" {
		return []string{given, GlobalManagerID}
	}
	return []string{GlobalManagerID}
}

// SyncProjectDefaults brings the default conversations of a project up to date and returns
// their ids, home first. It takes the write lock only if something differs. For an unknown
// project it returns fault.NotFound.
func (w *Workspace) SyncProjectDefaults(ctx context.Context, project string, leader Leader) (ids []string, err error) {
	if _, err := w.Project(project); err != nil {
		return nil, err
	}
	read := func(name string) (doc.Conversation, error) { return Load(w, doc.ConversationCodec, name) }
	staff, err := w.staff()
	if err != nil {
		return nil, err
	}
	found, err := defaultsOf(staff, project, leader, read)
	if err != nil {
		return nil, err
	}
	if w.Exists(AgentFile(GlobalManagerID)) && w.Exists(AgentFile(SecretaryID(project))) && w.homeIsCurrent(staff, leader) && w.officeIsCurrent(staff, leader) && !slices.ContainsFunc(found, defaultConversation.differs) {
		return idsOf(found), nil
	}
	err = w.Update(ctx, func(u *Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		if found, err = u.projectDefaults(project, leader); err != nil {
			return err
		}
		for _, s := range found {
			if err := u.putDefault(s); err != nil {
				return err
			}
		}
		return nil
	})
	return idsOf(found), err
}

// homeIsCurrent reports whether the home of the workspace has its due members.
func (w *Workspace) homeIsCurrent(s staff, leader Leader) bool {
	home, err := w.Home()
	if err != nil || !leader.EnrolMembers {
		return err == nil
	}
	missing := func(id string) bool { return !slices.Contains(home.Participants.AgentIDs, id) }
	executive := s.executive(leader)
	return !slices.ContainsFunc(leader.due(), missing) && (executive == "" || !missing(executive))
}

// defaultConversation is a default conversation: as it should be (want) and as it is on disk (found).
// found is nil if there is no valid one.
type defaultConversation struct {
	want  doc.Conversation
	found *doc.Conversation
}

func (s defaultConversation) differs() bool {
	return s.found == nil || !reflect.DeepEqual(*s.found, s.want)
}

func idsOf(all []defaultConversation) (ids []string) {
	for _, s := range all {
		ids = append(ids, s.want.ID)
	}
	return ids
}

func (u *Unit) putDefault(s defaultConversation) error {
	dir := ProjectConversationDir(s.want.ProjectID, s.want.ID)
	switch {
	case s.found == nil:
		return u.placeConversation(dir, u.stampConversation(s.want))
	case s.differs():
		return Put(u, doc.ConversationCodec, path.Join(dir, ConversationFile), s.want, 0o644)
	}
	return nil
}

// projectDefaults creates the agents that a project needs and returns its
// conversations, which are not written yet.
func (u *Unit) projectDefaults(project string, leader Leader) ([]defaultConversation, error) {
	if err := u.workspaceDefaults(leader); err != nil {
		return nil, err
	}
	if !u.Exists(AgentFile(SecretaryID(project))) {
		err := u.createAgent(AgentSpec{
			ID: SecretaryID(project), Name: "Project Secretary " + project, DisplayTitle: "Executive Secretary",
			ModelHint: doc.ProviderCodex, Role: "worker", Provider: doc.ProviderCodex,
		})
		if err != nil {
			return nil, err
		}
	}
	staff, err := u.staff()
	if err != nil {
		return nil, err
	}
	return defaultsOf(staff, project, leader, u.conversation)
}

// staff holds the agents and teams of the company, sorted by id.
type staff struct {
	agents []doc.Agent
	teams  []doc.Team
	// unread are the ids of agents whose document cannot be read now. They keep their
	// memberships.
	unread []string
}

func (w *Workspace) staff() (s staff, err error) {
	found, err := w.folders(AgentsDir)
	if err != nil {
		return s, err
	}
	if s.agents, err = w.agents(); err != nil {
		return s, err
	}
	for _, e := range found {
		if !slices.ContainsFunc(s.agents, func(a doc.Agent) bool { return a.ID == e.Name }) {
			s.unread = append(s.unread, e.Name)
		}
	}
	s.teams, err = w.teams()
	return s, err
}

func (s staff) where(keep func(doc.Agent) bool) (ids []string) {
	for _, a := range s.agents {
		if keep(a) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

func (s staff) role(role string) []string {
	return s.where(func(a doc.Agent) bool { return a.Role == role })
}

// leaders returns the members who lead a conversation: people, and agents with the role ceo.
func (s staff) leaders(c *doc.Conversation) (ids []string) {
	for _, id := range c.Participants.AgentIDs {
		at := slices.IndexFunc(s.agents, func(a doc.Agent) bool { return a.ID == id })
		if at >= 0 && s.agents[at].Role != "ceo" || at < 0 && strings.HasPrefix(id, "agent_") {
			continue // an agent without the role ceo, or one that has left the company
		}
		ids = append(ids, id)
	}
	return ids
}

// defaultsOf computes the default conversations of a project.
func defaultsOf(s staff, project string, leader Leader, read func(name string) (doc.Conversation, error)) ([]defaultConversation, error) {
	d := defaults{staff: s, project: project, leader: leader, read: read}
	d.executive = d.executiveManager()
	d.add("home", "home", "Home", "home", nil)
	d.addExecutives()
	d.add("executive_meeting", "channel", "Executive Meeting", "executive-meeting", append(s.role("director"), s.role("manager")...))
	for _, team := range s.teams {
		members := s.where(func(a doc.Agent) bool { return a.TeamID == team.ID })
		d.add("team_"+team.ID, "channel", team.Name, slugOr(team.Name, team.ID), members, team.ID)
	}
	return d.all, d.err
}

// defaults collects the default conversations of a project.
type defaults struct {
	staff
	project string
	leader  Leader
	read    func(name string) (doc.Conversation, error)
	all     []defaultConversation
	err     error
	// executive is the id of the Executive Manager, "" if the company has none.
	executive string
}

func (d *defaults) add(name, kind, title, slug string, members []string, teams ...string) {
	want := doc.Conversation{
		ID: "conv_" + d.project + "_" + name, Scope: "project", ProjectID: d.project, Kind: kind,
		Name: title, Slug: slug, Visibility: "org", AutoGenerated: true,
	}
	if teams != nil {
		want.Visibility = "team"
	}
	found, err := d.find(want.ID)
	if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.InvalidFile) {
		d.err = err
		return
	}
	top := distinct(d.leads(found), d.role("ceo"), []string{GlobalManagerID, SecretaryID(d.project)})
	var stay []string
	if found != nil {
		want.SchemaVersion, want.Type, want.ID, want.Kind = found.SchemaVersion, found.Type, found.ID, found.Kind
		want.CreatedAt, want.CreatedBy, want.DMPeerAgentID = found.CreatedAt, found.CreatedBy, found.DMPeerAgentID
		for _, id := range found.Participants.AgentIDs {
			if slices.Contains(d.unread, id) {
				stay = append(stay, id)
			}
		}
	}
	if d.executive != "" && (kind == "home" || teams != nil) {
		stay = append(stay, d.executive)
	}
	want.Participants = doc.Participants{AgentIDs: distinct(top, members, stay), TeamIDs: distinct(teams)}
	d.all = append(d.all, defaultConversation{want, found})
}

// find reads a conversation of the project. It returns fault.InvalidFile for one that belongs
// to another project.
func (d *defaults) find(id string) (*doc.Conversation, error) {
	file := path.Join(ProjectConversationDir(d.project, id), ConversationFile)
	c, err := d.read(file)
	if err != nil {
		return nil, err
	}
	if c.ProjectID != d.project {
		return nil, fault.New(fault.InvalidFile, "%s belongs to another project", file)
	}
	return &c, CheckID(file, id, c.ID)
}

// leads returns the actors who lead a conversation.
func (d *defaults) leads(found *doc.Conversation) []string {
	if given := strings.TrimSpace(d.leader.ActorID); given != "" {
		return []string{given}
	}
	if found != nil {
		return d.leaders(found)
	}
	if len(d.all) > 0 && d.all[0].found != nil { // the home comes first
		return d.leaders(&d.all[0].want)
	}
	return []string{ceoOrDefault(d.leader.FallbackID)}
}
