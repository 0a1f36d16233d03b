package snapshot

// Colleagues: the agents, from the point of view of their co-workers.

import (
	"cmp"
	"slices"

	"ac/internal/collation"
	"ac/workspace"
	"ac/workspace/doc"
)

// Colleague is an agent and its workload.
type Colleague struct {
	AgentID         string `json:"agent_id"`
	Name            string `json:"name"`
	Role            string `json:"role"`
	Provider        string `json:"provider"`
	TeamID          string `json:"team_id,omitempty"`
	TeamName        string `json:"team_name,omitempty"`
	ActiveRuns      int    `json:"active_runs"`
	TotalRuns       int    `json:"total_runs"`
	PendingReviews  int    `json:"pending_reviews"`
	RecentDecisions int    `json:"recent_decisions"`
	LastSeenAt      string `json:"last_seen_at,omitempty"`
	Status          string `json:"status"`
}

// Colleagues returns the agents that have a document. It counts their rows in monitor and inbox.
func (m *View) Colleagues(monitor *Monitor, inbox *Inbox) ([]Colleague, error) {
	agents, err := m.view.AgentCounters()
	if err != nil {
		return nil, err
	}
	list := make([]Colleague, 0, len(agents))
	at := make(map[string]*Colleague, len(agents))
	teams := map[string]string{}
	for _, a := range agents {
		if !a.OnFile {
			continue
		}
		c := Colleague{AgentID: a.AgentID, Name: a.Name, Role: a.Role, Provider: a.Provider}
		if a.TeamID != nil {
			c.TeamID = *a.TeamID
		}
		if _, asked := teams[c.TeamID]; !asked && workspace.SafeID(c.TeamID) {
			team, _ := m.w.Team(c.TeamID) // an unreadable team has no name
			teams[c.TeamID] = team.Name
		}
		c.TeamName = teams[c.TeamID]
		list = append(list, c)
		at[a.AgentID] = &list[len(list)-1]
	}
	count(at, monitor, inbox)
	for i := range list {
		switch c := &list[i]; {
		case c.ActiveRuns > 0:
			c.Status = "active"
		case c.PendingReviews > 0:
			c.Status = "needs_review"
		default:
			c.Status = "idle"
		}
	}
	sortColleagues(list)
	return list, nil
}

// count adds the rows of monitor and inbox to the agents' counts.
func count(at map[string]*Colleague, monitor *Monitor, inbox *Inbox) {
	for i := range monitor.Rows {
		r := &monitor.Rows[i]
		c := at[r.AgentID]
		if c == nil {
			continue
		}
		c.TotalRuns++
		if r.RunStatus == doc.StatusRunning || (r.RowSession != nil && r.LiveStatus == doc.StatusRunning) {
			c.ActiveRuns++
		}
		seen := r.CreatedAt
		if r.LastEvent != nil && r.LastEvent.TSWallclock != nil {
			seen = *r.LastEvent.TSWallclock
		}
		c.LastSeenAt = latest(c.LastSeenAt, seen)
	}
	for _, p := range inbox.Pending {
		if p.ProducedBy == nil || at[*p.ProducedBy] == nil {
			continue
		}
		c := at[*p.ProducedBy]
		c.PendingReviews++
		if p.CreatedAt != nil {
			c.LastSeenAt = latest(c.LastSeenAt, *p.CreatedAt)
		}
	}
	for _, d := range inbox.Decisions {
		if c := at[d.ActorID]; c != nil {
			c.RecentDecisions++
			c.LastSeenAt = latest(c.LastSeenAt, d.CreatedAt)
		}
	}
}

// sortColleagues sorts by number of active runs, then of pending reviews, then by last activity.
func sortColleagues(list []Colleague) {
	roles := map[string]int{"ceo": 0, "director": 1, "manager": 2, "worker": 3}
	byText := collation.Lazy()
	slices.SortFunc(list, func(a, b Colleague) int {
		if c := cmp.Or(cmp.Compare(b.ActiveRuns, a.ActiveRuns), cmp.Compare(b.PendingReviews, a.PendingReviews)); c != 0 {
			return c
		}
		if (a.LastSeenAt == "") != (b.LastSeenAt == "") {
			return cmp.Compare(b.LastSeenAt, a.LastSeenAt)
		}
		if c := cmp.Or(newer(a.LastSeenAt, b.LastSeenAt), cmp.Compare(roles[a.Role], roles[b.Role])); c != 0 {
			return c
		}
		return cmp.Or(byText(a.Name, b.Name), cmp.Compare(a.AgentID, b.AgentID))
	})
}
