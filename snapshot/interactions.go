package snapshot

// Interactions: the requests of agents to people, and their outcome.

import (
	"cmp"
	"slices"

	"ac/index"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// States that a query can select.
const (
	InteractionsOpen     = "open"
	InteractionsResolved = "resolved"
	InteractionsAll      = "all"
)

// InteractionQuery selects interactions. Empty fields match all.
type InteractionQuery struct {
	ProjectID string
	RunID     string // for a workflow's run, includes its steps
	AgentID   string
	Kind      string
	State     string // InteractionsOpen, InteractionsResolved or InteractionsAll
	Limit     int
}

// Interactions is the result of interaction.list.
type Interactions struct {
	Interactions []interaction.Record `json:"interactions"`
	Open         int                  `json:"open"` // all matching open ones, even beyond the limit
}

// Interactions lists interactions: open ones, oldest first, then the others, newest first. An
// interaction whose session has lost its owner counts as cancelled.
func (m *View) Interactions(q InteractionQuery) (Interactions, error) {
	result := Interactions{Interactions: []interaction.Record{}}
	filter := index.InteractionFilter{ProjectID: q.ProjectID, RunID: q.RunID, AgentID: q.AgentID, Kind: q.Kind}
	open, lost, err := m.unresolved(filter)
	if err != nil {
		return result, err
	}
	result.Open = len(open)
	var list []index.Interaction
	if q.State != InteractionsResolved {
		list = open
	}
	if q.State != InteractionsOpen {
		filter.Resolved, filter.Limit = true, q.Limit
		over, err := m.view.Interactions(filter)
		if err != nil {
			return result, err
		}
		over = append(over, lost...)
		slices.SortStableFunc(over, func(a, b index.Interaction) int { return cmp.Compare(overAt(b), overAt(a)) })
		list = slices.Concat(list, over)
	}
	result.Interactions = m.records(list[:min(len(list), q.Limit)], lost)
	return result, nil
}

// overAt returns when an interaction ended. For a lost one that is unknown, so overAt returns the
// time of its request.
func overAt(i index.Interaction) int64 {
	if i.Resolved == nil {
		return i.At
	}
	return i.ResolvedAt
}

// unresolved returns the interactions without a resolution in their log. An open one still has
// somebody waiting for the answer: the owner of the session, or the workflow. A lost one does not.
func (m *View) unresolved(f index.InteractionFilter) (open, lost []index.Interaction, err error) {
	list, err := m.view.Interactions(f)
	if err != nil {
		return nil, nil, err
	}
	owned := map[index.RunKey]bool{}
	for _, i := range list {
		waits := i.RunStatus == doc.StatusRunning
		if waits && i.OfSession {
			alive, known := owned[i.RunKey]
			if !known {
				alive = session.RunAlive(m.w, i.ProjectID, i.RunID)
				owned[i.RunKey] = alive
			}
			waits = alive
		}
		if waits {
			open = append(open, i)
		} else {
			lost = append(lost, i)
		}
	}
	return open, lost, nil
}

// records reads the records of interactions from their logs. It skips lines that do not parse.
func (m *View) records(list, lost []index.Interaction) []interaction.Record {
	gone := make(map[index.EventLocation]bool, len(lost))
	for _, i := range lost {
		gone[i.Requested] = true
	}
	records := make([]interaction.Record, 0, len(list))
	m.view.InteractionLines(list, func(i index.Interaction, requested, resolved []byte) {
		record, ok := interaction.RecordFromLines(i.ProjectID, i.RunID, requested, resolved)
		if !ok {
			return
		}
		if gone[i.Requested] {
			record = record.Lost()
		}
		records = append(records, record)
	})
	return records
}

// pendingInteractions is the maximum number of open interactions in an inbox.
const pendingInteractions = 200

// PendingInteractions is the part of an inbox about interactions.
type PendingInteractions struct {
	Interactions []interaction.Record `json:"pending_interactions"` // open, newest first
	Open         int                  `json:"open_interactions"`
}

// PendingInteractions returns the newest open interactions of a project, or of all projects if it
// is "".
func (m *View) PendingInteractions(project string) (PendingInteractions, error) {
	open, _, err := m.unresolved(index.InteractionFilter{ProjectID: project})
	slices.Reverse(open)
	return PendingInteractions{m.records(open[:min(len(open), pendingInteractions)], nil), len(open)}, err
}

// OpenInteractions counts the open interactions of the workspace.
func (m *View) OpenInteractions() (int, error) {
	open, _, err := m.unresolved(index.InteractionFilter{})
	return len(open), err
}
