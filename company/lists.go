package company

// Lists of any folder: one that is no workspace has none.

import (
	"context"

	"ac/governance"
	"ac/runs"
	"ac/workspace/doc"
)

// ListRunsParams are the params of run.list.
type ListRunsParams struct {
	Dir
	ProjectID string `json:"project_id" is:"optional,id"`
}

// ListRuns lists runs, newest first.
func (c *Folder) ListRuns(ctx context.Context, p ListRunsParams) ([]runs.ListRow, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []runs.ListRow{}, nil
	}
	if err != nil {
		return nil, err
	}
	return runs.List(w, p.ProjectID)
}

// ListInboxParams are the params of inbox.list_help_requests.
type ListInboxParams struct {
	Dir
	Limit int `json:"limit" is:"default=200,min=1,cut=1000"`
}

// ListHelpRequests lists the help requests, newest first.
func (c *Folder) ListHelpRequests(ctx context.Context, p ListInboxParams) ([]doc.HelpRequest, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []doc.HelpRequest{}, nil
	}
	if err != nil {
		return nil, err
	}
	return governance.HelpRequests(w, p.Limit)
}

// ListReviewsParams are the params of inbox.list_reviews.
type ListReviewsParams struct {
	Dir
	Limit int `json:"limit" is:"default=200,min=1,cut=1000"`
}

// ListReviews lists the reviews, newest first.
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

// ListCommentsParams are the params of comment.list.
type ListCommentsParams struct {
	Dir
	ProjectID        string `json:"project_id" is:"id"`
	TargetAgentID    string `json:"target_agent_id" is:"optional,id"`
	TargetArtifactID string `json:"target_artifact_id" is:"optional,id"`
	TargetRunID      string `json:"target_run_id" is:"optional,id"`
	Limit            int    `json:"limit" is:"default=300,min=1,cut=5000"`
}

// ListComments lists the comments of a project, newest first.
func (c *Folder) ListComments(ctx context.Context, p ListCommentsParams) ([]doc.Comment, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []doc.Comment{}, nil
	}
	if err != nil {
		return nil, err
	}
	about := doc.CommentTarget{ProjectID: p.ProjectID, AgentID: p.TargetAgentID, ArtifactID: p.TargetArtifactID, RunID: p.TargetRunID}
	return (&Company{c.location, w}).commentsAbout(ctx, about, p.Limit)
}
