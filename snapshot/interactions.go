package snapshot

// Interactions: what agents ask of people, and what came of it.

import (
	"cmp"
	"slices"

	"ac/index"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// States of interactions that can be asked for.
const (
	InteractionsOpen     = "open"
	InteractionsResolved = "resolved"
	InteractionsAll      = "all"
)

// InteractionQuery chooses interactions; what is empty matches all.
type InteractionQuery struct {
	ProjectID string
	RunID     string // of a workflow: of its steps too
	AgentID   string
	Kind      string
	State     string // InteractionsOpen, InteractionsResolved or InteractionsAll
	Limit     int
}

// Interactions is the result of interaction.list.
type Interactions struct {
	Interactions []interaction.Record `json:"interactions"`
	Open         int                  `json:"open"` // of those that were asked for, beyond the limit too
}

// Interactions lists interactions: the open ones first, the oldest first, then the
// others, the newest first. One whose session's owner is gone counts as cancelled.
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

// overAt is when an interaction was over. When one was lost nobody knows: its
// request stands for that.
func overAt(i index.Interaction) int64 {
	if i.Resolved == nil {
		return i.At
	}
	return i.ResolvedAt
}

// unresolved are the interactions that their logs leave open, parted by whether
// somebody still waits for the answer: the owner of the session, or the workflow.
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

// records reads what interactions say.
func (m *View) records(list, lost []index.Interaction) []interaction.Record {
	gone := make(map[index.Place]bool, len(lost))
	for _, i := range lost {
		gone[i.Requested] = true
	}
	records := make([]interaction.Record, 0, len(list))
	m.view.InteractionLines(list, func(i index.Interaction, requested, resolved []byte) {
		record, ok := interaction.OfLines(i.ProjectID, i.RunID, requested, resolved)
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

// pendingInteractions is how many open interactions inboxes show.
const pendingInteractions = 200

// PendingInteractions is what inboxes show of interactions.
type PendingInteractions struct {
	Interactions []interaction.Record `json:"pending_interactions"` // open, the newest first
	Open         int                  `json:"open_interactions"`
}

// PendingInteractions takes the newest open interactions of a project, of all when it
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
