package company

// memory.*: proposing lines for a memory, looking at what they would change, and
// approving them. inbox.list_reviews: what was decided.

import (
	"context"

	"ac/governance"
	"ac/workspace/doc"
)

// ItemParams name an item that is decided on.
type ItemParams struct {
	Dir
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
}

func (p ItemParams) item() governance.Item {
	return governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ArtifactID}
}

// ApproveDeltaParams are those of memory.approve_delta. ExpectHash is that of
// the preview that was looked at.
type ApproveDeltaParams struct {
	ItemParams
	ActorParams
	Notes      string `json:"notes,omitempty" is:"optional,empty"`
	ExpectHash string `json:"expect_hash,omitempty" is:"optional"`
}

// DeltaDecision is what was decided on an item, in which review.
type DeltaDecision struct {
	ReviewID string `json:"review_id"`
	Decision string `json:"decision"`
}

// ApproveDelta changes the memory as proposed and keeps the review.
func (c *Company) ApproveDelta(ctx context.Context, p ApproveDeltaParams) (DeltaDecision, error) {
	review, err := governance.DecideDelta(ctx, c.w, governance.Ruling{
		Item: p.item(), Decision: governance.Approved, Actor: p.actor(), Notes: p.Notes, ExpectHash: p.ExpectHash,
	})
	return DeltaDecision{review, governance.Approved}, err
}

// DeltaPreview is the result of memory.preview_delta: what the approval of a
// delta would do now. State is fits, reanchored or conflict; of a conflict
// Reason says why, Diff is the patch as it is, and there is no hash. Decision is
// pending, approved or denied.
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

// PreviewDelta shows what the approval of a delta would do now.
func (c *Company) PreviewDelta(_ context.Context, p ItemParams) (DeltaPreview, error) {
	seen, err := governance.PreviewDelta(c.w, p.item())
	head := seen.Head
	return DeltaPreview{
		ArtifactID: head.ID, Title: head.Title, ProducedBy: head.ProducedBy, CreatedAt: head.CreatedAt, Visibility: head.Visibility,
		TargetFile: seen.TargetFile, DeltaScope: head.DeltaScope, State: seen.State, Reason: seen.Conflict, Diff: seen.Diff, Hash: seen.Hash,
		Decision: seen.Decision, ReviewID: seen.ReviewID,
	}, err
}

// ListReviewsParams are those of inbox.list_reviews.
type ListReviewsParams struct {
	Dir
	Limit int `json:"limit" is:"default=200,min=1,cut=1000"`
}

// ListReviews lists the reviews, the newest first.
func (c *Folder) ListReviews(ctx context.Context, p ListReviewsParams) ([]doc.Review, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []doc.Review{}, nil
	}
	if err != nil {
		return nil, err
	}
	return governance.Reviews(w, p.Limit)
}
