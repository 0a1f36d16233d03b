package decisions

// memory.preview_delta and memory.approve_delta: previewing and approving memory deltas.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/workspace/doc"
)

// ItemParams identify an item to decide on.
type ItemParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
}

func (p ItemParams) item() governance.Item {
	return governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ArtifactID}
}

// ApproveDeltaParams are the params of memory.approve_delta. ExpectHash is the hash of the
// preview that the actor reviewed.
type ApproveDeltaParams struct {
	ItemParams
	company.ActorParams
	Notes      string `json:"notes,omitempty" is:"optional,empty"`
	ExpectHash string `json:"expect_hash,omitempty" is:"optional"`
}

// DeltaDecision is a decision and its review.
type DeltaDecision struct {
	ReviewID string `json:"review_id"`
	Decision string `json:"decision"`
}

// ApproveDelta applies a proposal to its memory and records the review.
func (c Operations) ApproveDelta(ctx context.Context, p ApproveDeltaParams) (DeltaDecision, error) {
	review, err := governance.DecideDelta(ctx, c.Workspace(), governance.Ruling{
		Item: p.item(), Decision: governance.Approved, Actor: p.Actor(), Notes: p.Notes, ExpectHash: p.ExpectHash,
	})
	return DeltaDecision{review, governance.Approved}, err
}

// DeltaPreview is the result of memory.preview_delta: what approving a delta would do now. State
// is fits, reanchored or conflict. For a conflict, Reason is set, Diff is the unchanged patch,
// and Hash is empty. Decision is pending, approved or denied.
type DeltaPreview struct {
	ArtifactID string `json:"artifact_id"`
	Title      string `json:"title"`
	ProducedBy string `json:"produced_by"`
	CreatedAt  string `json:"created_at"`
	Visibility string `json:"visibility"`
	TargetFile string `json:"target_file"`
	doc.DeltaScope
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Diff     string `json:"diff"`
	Hash     string `json:"hash,omitempty"`
	Decision string `json:"decision"`
	ReviewID string `json:"review_id,omitempty"`
}

// PreviewDelta returns what approving a delta would do now.
func (c Operations) PreviewDelta(_ context.Context, p ItemParams) (DeltaPreview, error) {
	seen, err := governance.PreviewDelta(c.Workspace(), p.item())
	head := seen.Head
	return DeltaPreview{
		ArtifactID: head.ID, Title: head.Title, ProducedBy: head.ProducedBy, CreatedAt: head.CreatedAt, Visibility: head.Visibility,
		TargetFile: seen.TargetFile, DeltaScope: head.DeltaScope, State: seen.State, Reason: seen.Conflict, Diff: seen.Diff, Hash: seen.Hash,
		Decision: seen.Decision, ReviewID: seen.ReviewID,
	}, err
}
