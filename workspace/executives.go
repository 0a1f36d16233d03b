package workspace

// Conversations that a company with an Executive Manager has in addition: an executive office
// for the company and for each project, and a planning council for each project.

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ac/internal/fault"
	"ac/workspace/doc"
)

const (
	// ExecutiveOfficeID is the conversation of the leaders of the company.
	ExecutiveOfficeID = "conv_workspace_executive_office"
	// ExecutiveManagerTitle is the display_title that makes a manager the
	// Executive Manager.
	ExecutiveManagerTitle = "Executive Manager"

	executiveOffice = "executive_office"
	planningCouncil = "planning_council"
)

// ProjectOfficeID returns the id of a project's executive office.
func ProjectOfficeID(project string) string { return "conv_" + project + "_" + executiveOffice }

// PlanningCouncilID returns the id of a project's planning council.
func PlanningCouncilID(project string) string { return "conv_" + project + "_" + planningCouncil }

// ExecutiveManager returns the Executive Manager among agents, the one with the lowest id if
// there are several. ok is false if there is none.
func ExecutiveManager(agents []doc.Agent) (manager doc.Agent, ok bool) {
	for _, a := range agents {
		if a.Role == "manager" && a.DisplayTitle == ExecutiveManagerTitle && (!ok || a.ID < manager.ID) {
			manager, ok = a, true
		}
	}
	return manager, ok
}

// executive returns the id of the Executive Manager that leader names, else of the company's.
func (s staff) executive(leader Leader) string {
	if given := strings.TrimSpace(leader.ExecutiveManager); given != "" {
		return given
	}
	manager, _ := ExecutiveManager(s.agents)
	return manager.ID
}

// staff returns the agents and teams of the company as the unit will leave them.
func (u *Unit) staff() (staff, error) {
	s, err := u.w.staff()
	if err != nil {
		return s, err
	}
	s.agents, s.teams = append(slices.Clone(s.agents), u.agents...), append(slices.Clone(s.teams), u.teams...)
	slices.SortFunc(s.agents, func(a, b doc.Agent) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(s.teams, func(a, b doc.Team) int { return cmp.Compare(a.ID, b.ID) })
	return s, nil
}

// executiveManager returns the agent who leads the project besides the CEO: the one named by
// the caller, else the one who already leads it, else the company's Executive Manager.
func (d *defaults) executiveManager() string {
	if strings.TrimSpace(d.leader.ExecutiveManager) == "" {
		found, err := d.find(ProjectOfficeID(d.project))
		if err == nil && slices.ContainsFunc(d.agents, func(a doc.Agent) bool {
			return a.ID == found.CreatedBy && a.ID != GlobalManagerID
		}) {
			return found.CreatedBy
		}
	}
	return d.staff.executive(d.leader)
}

// addExecutives adds the conversations of the project's leaders. They exist only in a company
// with an Executive Manager, and by default only leaders are members.
func (d *defaults) addExecutives() {
	if d.executive == "" {
		return
	}
	d.addLed(executiveOffice, "Executive Office", "executive-office", []string{SecretaryID(d.project)})
	d.addLed(planningCouncil, "Planning Council", "planning-council", d.role("director"))
}

// addLed adds a conversation of the CEO, the Executive Manager and others.
func (d *defaults) addLed(name, title, slug string, others []string) {
	before := len(d.all)
	d.add(name, "channel", title, slug, nil)
	if len(d.all) == before {
		return // it failed
	}
	s := &d.all[before]
	if s.found == nil {
		s.want.CreatedBy = d.executive
	}
	s.want.Participants.AgentIDs = distinct(d.leads(s.found), []string{d.executive}, others)
}

// readExecutiveOffice reads the executive office of the company.
func readExecutiveOffice(load func(name string) (doc.Conversation, error)) (doc.Conversation, error) {
	file := path.Join(ConversationsDir, ExecutiveOfficeID, ConversationFile)
	found, err := load(file)
	if err == nil && found.Scope != "workspace" {
		err = fault.New(fault.InvalidFile, "%s does not belong to the workspace", file)
	}
	if err != nil {
		return found, err
	}
	return found, CheckID(file, ExecutiveOfficeID, found.ID)
}

// dueInOffice returns the members that the company's executive office should have. Members
// are never removed.
func (s staff) dueInOffice(found, home *doc.Conversation, leader Leader) []string {
	var leads []string
	switch given := strings.TrimSpace(leader.ActorID); {
	case given != "" && (leader.EnrolMembers || found == nil):
		leads = []string{given}
	case found == nil && home != nil:
		leads = s.leaders(home)
	case found == nil:
		leads = []string{ceoOrDefault("")}
	}
	executive := []string{s.executive(leader)}
	if found != nil {
		return distinct(found.Participants.AgentIDs, leads, executive)
	}
	return distinct(leads, executive)
}

// officeIsCurrent reports whether the company's executive office, if it should have one, exists
// with its due members.
func (w *Workspace) officeIsCurrent(s staff, leader Leader) bool {
	if s.executive(leader) == "" {
		return true
	}
	found, err := readExecutiveOffice(func(name string) (doc.Conversation, error) { return Load(w, doc.ConversationCodec, name) })
	return err == nil && len(s.dueInOffice(&found, nil, leader)) == len(found.Participants.AgentIDs)
}

// executiveOffice creates the company's executive office, or adds its due members.
func (u *Unit) executiveOffice(leader Leader) error {
	s, err := u.staff()
	if err != nil || s.executive(leader) == "" {
		return err
	}
	found, err := readExecutiveOffice(u.conversation)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidFile):
		var home *doc.Conversation
		if h, err := homeOf(u.conversation); err == nil {
			home = &h
		}
		return u.placeConversation(path.Join(ConversationsDir, ExecutiveOfficeID), u.stampConversation(doc.Conversation{
			ID: ExecutiveOfficeID, Scope: "workspace", Kind: "channel", Name: "Executive Office", Slug: "executive-office", Visibility: "org",
			CreatedBy: s.executive(leader), AutoGenerated: true,
			Participants: doc.Participants{AgentIDs: s.dueInOffice(nil, home, leader), TeamIDs: []string{}},
		}))
	case err != nil:
		return err
	}
	due := s.dueInOffice(&found, nil, leader)
	if len(due) == len(found.Participants.AgentIDs) {
		return nil
	}
	found.Participants.AgentIDs = due
	return Put(u, doc.ConversationCodec, path.Join(ConversationsDir, ExecutiveOfficeID, ConversationFile), found, 0o644)
}
