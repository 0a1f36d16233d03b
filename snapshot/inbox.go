package snapshot

// The inbox: pending items and decisions.

import "ac/index"

// Inbox holds the pending items and the decisions of a workspace.
type Inbox struct {
	Header
	IndexState
	ParseErrors ItemErrors    `json:"parse_errors"`
	Pending     []PendingItem `json:"pending"`
	Decisions   []Decision    `json:"recent_decisions"`
}

// PendingItem is an artifact that waits for a decision.
type PendingItem struct {
	ProjectID    string  `json:"project_id"`
	ArtifactID   string  `json:"artifact_id"`
	ArtifactType string  `json:"artifact_type"`
	Title        *string `json:"title"`
	Visibility   *string `json:"visibility"`
	ProducedBy   *string `json:"produced_by"`
	RunID        *string `json:"run_id"`
	CreatedAt    *string `json:"created_at"`
	ParseErrors  int64   `json:"parse_error_count"`
}

// Decision is a review with its artifact, if known.
type Decision struct {
	index.Review
	ArtifactType *string `json:"artifact_type"`
	RunID        *string `json:"run_id"`
	ParseErrors  int64   `json:"parse_error_count"`
}

// ItemErrors counts the listed items whose runs have malformed lines.
type ItemErrors struct {
	Any       bool  `json:"has_parse_errors"`
	Pending   int   `json:"pending_with_errors"`
	Decisions int   `json:"decisions_with_errors"`
	Most      int64 `json:"max_parse_error_count"`
}

// Inbox returns the newest pending items and decisions of a project, or of all projects if it is
// "".
func (m *View) Inbox(project string, pending, decisions int) (Inbox, error) {
	result := Inbox{Header: m.taken, IndexState: m.indexed, Pending: []PendingItem{}, Decisions: []Decision{}}
	e := &result.ParseErrors
	waiting, err := m.view.PendingArtifacts(project, pending)
	if err != nil {
		return result, err
	}
	for _, a := range waiting {
		result.Pending = append(result.Pending, PendingItem{
			a.ProjectID, a.ArtifactID, a.Type, a.Title, a.Visibility, a.ProducedBy, a.RunID, a.CreatedAt, a.ParseErrors,
		})
		if a.ParseErrors > 0 {
			e.Pending++
			e.Most = max(e.Most, a.ParseErrors)
		}
	}
	decided, err := m.view.Decisions(index.ReviewFilter{ProjectID: project, Limit: decisions})
	for _, d := range decided {
		result.Decisions = append(result.Decisions, Decision{d.Review, d.ArtifactType, d.RunID, d.ParseErrors})
		if d.ParseErrors > 0 {
			e.Decisions++
			e.Most = max(e.Most, d.ParseErrors)
		}
	}
	e.Any = e.Most > 0
	return result, err
}
