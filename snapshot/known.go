package snapshot

// The part of a screen that needs no index, for answers that must not fail when the index does.

import (
	"slices"

	"ac/governance"
	"ac/index"
	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// KnownUI returns a screen from files alone: the decisions and comments of a project, and the
// heartbeat. Parts that need the index are empty.
func KnownUI(w *workspace.Workspace, r UIRequest) UI {
	taken := Header{WorkspaceDir: r.Given, GeneratedAt: clock.Stamp(w.Env.Clock.Now())}
	result := UI{
		Header: taken, SyncWorker: r.SyncWorker, Heartbeat: readHeartbeat(w), Colleagues: []Colleague{}, Comments: []doc.Comment{},
		Monitor: Monitor{Header: taken, Rows: []MonitorRow{}},
		Inbox:   Inbox{Header: taken, Pending: []PendingItem{}, Decisions: []Decision{}},
		Usage:   Usage{Header: taken, ByProvider: []ProviderUsage{}, RecentRuns: []RecentRun{}},
	}
	reviews, _ := governance.Reviews(w, maxKnownReviews) // none if they cannot be listed
	for _, review := range reviews {
		if len(result.Inbox.Decisions) < r.Decisions && (r.Project == "" || review.Subject.ProjectID == r.Project) {
			result.Inbox.Decisions = append(result.Inbox.Decisions, knownDecision(w, review))
		}
	}
	slices.SortStableFunc(result.Inbox.Decisions, func(a, b Decision) int { return newer(a.CreatedAt, b.CreatedAt) })
	if r.Project != "" {
		comments, err := governance.ReadComments(w, governance.CommentFilter{CommentTarget: doc.CommentTarget{ProjectID: r.Project}, Limit: maxComments})
		if err == nil {
			result.Comments = comments
		}
	}
	return result
}

// maxKnownReviews bounds how many reviews are read.
const maxKnownReviews = 5000

func knownDecision(w *workspace.Workspace, review doc.Review) Decision {
	d := Decision{Review: index.Review{
		ReviewID: review.ID, CreatedAt: review.CreatedAt, Decision: review.Decision, ActorID: review.ActorID, ActorRole: review.ActorRole,
		SubjectKind: review.Subject.Kind, SubjectArtifactID: review.Subject.ArtifactID, ProjectID: review.Subject.ProjectID, Notes: review.Notes,
	}}
	if !workspace.SafeID(review.Subject.ProjectID) || !workspace.SafeID(review.Subject.ArtifactID) {
		return d
	}
	record, err := governance.ReadArtifact(w, review.Subject.ProjectID, review.Subject.ArtifactID)
	if err != nil {
		return d
	}
	if kind := record.String("type"); kind != "" {
		d.ArtifactType = &kind
	}
	if run := record.String("run_id"); run != "" {
		d.RunID = &run
	}
	return d
}
