package governance

// Reviews: the decisions on items, and who made them.

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Decisions.
const (
	Approved = "approved"
	Denied   = "denied"
)

// Kinds of items in the subject of a review.
const (
	KindMemoryDelta     = "memory_delta"
	KindMilestone       = "milestone"
	KindHeartbeatAction = "heartbeat_action"
	KindFiles           = "files"
)

// Item is what somebody decides on.
type Item struct{ ProjectID, ArtifactID string }

// State holds the decisions on an item: the first approval and the first denial, nil for none. An
// item with neither is pending.
type State struct{ Approval, Denial *doc.Review }

// Pending reports whether there is no decision yet.
func (s State) Pending() bool { return s.Approval == nil && s.Denial == nil }

// Reviews lists the readable reviews, newest first, at most limit. It skips invalid files and
// files whose name is not their id. The reviews may be shared: callers must not change them.
func Reviews(w *workspace.Workspace, limit int) ([]doc.Review, error) {
	names, err := workspace.Files(w.FS, workspace.ReviewsDir, ".yaml")
	if err != nil {
		return nil, err
	}
	slices.Reverse(names)
	reviews := []doc.Review{}
	for len(names) > 0 && len(reviews) < limit {
		next := min(len(names), limit-len(reviews))
		reviews = append(reviews, workspace.ReadEach(names[:next], func(name string) (doc.Review, error) { return loadReview(w, name) })...)
		names = names[next:]
	}
	return reviews, nil
}

// reviewFile is the file of a review. It is parsed lazily, because a decision scans all review
// files and needs only one.
type reviewFile struct {
	text  []byte
	parse func() (doc.Review, error)
}

func readReview(file string, text []byte) (reviewFile, error) {
	return reviewFile{text, sync.OnceValues(func() (doc.Review, error) {
		review, err := workspace.Decode(doc.ReviewCodec, file, text)
		if err != nil {
			return review, err
		}
		return review, workspace.CheckID(file, strings.TrimSuffix(path.Base(file), ".yaml"), review.ID)
	})}, nil
}

func loadReview(w *workspace.Workspace, name string) (doc.Review, error) {
	name = path.Join(workspace.ReviewsDir, name)
	file, err := workspace.LoadWith(w, name, func(text []byte) (reviewFile, error) { return readReview(name, text) })
	if err != nil {
		return doc.Review{}, err
	}
	return file.parse()
}

// mayHold reports whether a review can be about an artifact. An id of plain characters appears
// literally in the file, unless YAML escapes it.
func (f reviewFile) mayHold(artifact string) bool {
	plain := strings.Trim(artifact, idCharacters) == ""
	return !plain || bytes.Contains(f.text, []byte(artifact)) || bytes.ContainsAny(f.text, "\\\x00")
}

// idCharacters are the characters that YAML writes literally, unless it escapes them.
const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."

// StateOf reads the state of an item of a kind from the review files. It ignores reviews of other
// kinds. For a decision, call it inside a unit.
func StateOf(w *workspace.Workspace, item Item, kind string) (State, error) {
	var state State
	files, err := workspace.LoadAmong(w, workspace.ReviewsDir, ".yaml", readReview, func(file reviewFile) bool { return file.mayHold(item.ArtifactID) })
	if err != nil {
		return state, err
	}
	for _, file := range files {
		review, err := file.parse()
		if about := review.Subject; err != nil || about.Kind != kind || about.ProjectID != item.ProjectID || about.ArtifactID != item.ArtifactID {
			continue
		}
		switch {
		case review.Decision == Approved && state.Approval == nil:
			state.Approval = &review
		case review.Decision == Denied && state.Denial == nil:
			state.Denial = &review
		}
	}
	return state, nil
}

// Ruling is a decision that somebody wants to make on an item.
type Ruling struct {
	Item
	Decision string
	Actor    policy.Actor // as claimed
	Notes    string
	// ExpectHash is the hash of the preview that the decider saw, "" for none.
	ExpectHash string
}

// CheckUndecided checks whether an item of a kind may be decided as requested. An approved item
// may not. A denied item may be approved. If it is denied again, standing is the id of its first
// denial. standing is "" if a review must be written. Callers enforce the policy first, so that
// the state is not revealed to everybody.
func (g *PolicyUnit) CheckUndecided(r Ruling, kind string) (standing string, err error) {
	state, err := StateOf(g.Workspace(), r.Item, kind)
	switch {
	case err != nil:
		return "", err
	case state.Approval != nil:
		return "", fault.New(fault.Conflict, "%s was approved already (%s)", r.ArtifactID, state.Approval.ID)
	case state.Denial != nil && r.Decision == Denied:
		return state.Denial.ID, nil
	}
	return "", nil
}

// DecisionResult is the payload of approval.decided. The kind determines which of the fields after
// the first four are set.
type DecisionResult struct {
	ReviewID    string          `json:"review_id"`
	Decision    string          `json:"decision"`
	SubjectKind string          `json:"subject_kind"`
	Policy      policy.Decision `json:"policy"`
	ArtifactID  string          `json:"artifact_id,omitempty"`
	TargetFile  string          `json:"target_file,omitempty"`
	PatchFile   string          `json:"patch_file,omitempty"`
	doc.DeltaScope
	TaskID             string `json:"task_id,omitempty"`
	MilestoneID        string `json:"milestone_id,omitempty"`
	ReportArtifactID   string `json:"report_artifact_id,omitempty"`
	ProposedActionKind string `json:"proposed_action_kind,omitempty"`
	Execution          any    `json:"execution,omitempty"`
}

// scopedDecision is the DecisionResult of a version 2 delta, in the field order of later
// programs: the fields of the delta come before the policy.
type scopedDecision struct {
	ReviewID    string `json:"review_id"`
	Decision    string `json:"decision"`
	SubjectKind string `json:"subject_kind"`
	ArtifactID  string `json:"artifact_id"`
	TargetFile  string `json:"target_file"`
	PatchFile   string `json:"patch_file"`
	doc.DeltaScope
	Policy policy.Decision `json:"policy"`
}

// payload returns the payload of approval.decided.
func (d DecisionResult) payload() any {
	if d.DeltaScope == (doc.DeltaScope{}) {
		return d
	}
	return scopedDecision{d.ReviewID, d.Decision, d.SubjectKind, d.ArtifactID, d.TargetFile, d.PatchFile, d.DeltaScope, d.Policy}
}

// Review writes the review of a ruling that the policy allowed, and emits approval.decided in the
// item's run. about has the subject's kind and the fields specific to it; Review fills in the
// others. Callers write documents that the decision changes before the review.
func (g *PolicyUnit) Review(r Ruling, verdict policy.Verdict, about DecisionResult) (id string, err error) {
	w := g.Workspace()
	now := w.Env.Clock.Now()
	about.ReviewID, about.Decision, about.Policy = w.Env.IDs.New("rev"), r.Decision, verdict.Decision
	review := doc.Review{
		SchemaVersion: doc.Version, Type: "review", ID: about.ReviewID, CreatedAt: clock.Stamp(now),
		ActorID: r.Actor.ID, ActorRole: roleOf(r, verdict), Decision: r.Decision,
		Subject: doc.ReviewSubject{Kind: about.SubjectKind, ArtifactID: r.ArtifactID, ProjectID: r.ProjectID},
		Policy:  doc.ReviewPolicy(verdict.Decision), Notes: &r.Notes,
	}
	if about.SubjectKind == KindMemoryDelta {
		review.Subject.TargetFile, review.Subject.PatchFile = about.TargetFile, about.PatchFile
		review.Subject.DeltaScope = about.DeltaScope
	}
	if err := workspace.Put(g.Unit, doc.ReviewCodec, ReviewFile(review.ID), review, 0o644); err != nil {
		return "", err
	}
	return review.ID, g.Emit(r.ProjectID, verdict.RunID, events.Draft{Type: events.ApprovalDecided, At: now, Actor: r.Actor.ID}, about.payload())
}

// roleOf returns the role that a review records: the claimed one, except for a decision on an
// executive plan. There the recorded role counts, because it decides whether the plan is
// approved.
func roleOf(r Ruling, verdict policy.Verdict) string {
	if verdict.Resource.Approvers == policy.ExecutivesApprove {
		return verdict.Actor.Role
	}
	return r.Actor.Role
}

// ReviewFile returns the name of a review's file.
func ReviewFile(id string) string { return path.Join(workspace.ReviewsDir, id+".yaml") }
