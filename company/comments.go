package company

// comment.*: saying something about work, and listing what was said.

import (
	"context"

	"ac/governance"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// AddCommentParams are those of comment.add.
type AddCommentParams struct {
	Dir
	ProjectID        string `json:"project_id" is:"id"`
	AuthorID         string `json:"author_id"`
	AuthorRole       string `json:"author_role" is:"enum=human|ceo|director|manager|worker"`
	Body             string `json:"body" is:"maxbytes=65536"`
	TargetAgentID    string `json:"target_agent_id" is:"optional,id"`
	TargetArtifactID string `json:"target_artifact_id" is:"optional,id"`
	TargetRunID      string `json:"target_run_id" is:"optional,id"`
	Visibility       string `json:"visibility" is:"default=managers,enum=private_agent|team|managers|org"`
}

// CheckFields refuses targets that are no ids once they are trimmed.
func (p *AddCommentParams) CheckFields() (issues []fault.Issue) {
	for _, target := range []struct{ field, value string }{
		{"target_agent_id", p.TargetAgentID}, {"target_artifact_id", p.TargetArtifactID}, {"target_run_id", p.TargetRunID},
	} {
		if why := governance.CheckCommentTarget(target.value); why != "" {
			issues = append(issues, fault.Issue{Path: []any{target.field}, Code: "custom", Message: why})
		}
	}
	return issues
}

// AddCommentResult is the result of comment.add.
type AddCommentResult struct {
	CommentID string      `json:"comment_id"`
	Comment   doc.Comment `json:"comment"`
}

// AddComment writes a comment.
func (c *Company) AddComment(ctx context.Context, p AddCommentParams) (AddCommentResult, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return AddCommentResult{}, err
	}
	made, err := governance.AddComment(ctx, w, governance.NewComment{
		AuthorID: p.AuthorID, AuthorRole: p.AuthorRole, Visibility: p.Visibility, Body: p.Body,
		Target: doc.CommentTarget{ProjectID: p.ProjectID, AgentID: p.TargetAgentID, ArtifactID: p.TargetArtifactID, RunID: p.TargetRunID},
	})
	return AddCommentResult{CommentID: made.ID, Comment: made}, err
}

// ListCommentsParams are those of comment.list.
type ListCommentsParams struct {
	Dir
	ProjectID        string `json:"project_id" is:"id"`
	TargetAgentID    string `json:"target_agent_id" is:"optional,id"`
	TargetArtifactID string `json:"target_artifact_id" is:"optional,id"`
	TargetRunID      string `json:"target_run_id" is:"optional,id"`
	Limit            int    `json:"limit" is:"default=300,min=1,cut=5000"`
}

// ListComments lists the comments of a project, the newest first.
func (c *Company) ListComments(ctx context.Context, p ListCommentsParams) ([]doc.Comment, error) {
	w, err := c.workspace(ctx)
	if none(err) {
		return []doc.Comment{}, nil
	}
	if err != nil {
		return nil, err
	}
	return governance.ReadComments(w, governance.CommentFilter{
		CommentTarget: doc.CommentTarget{ProjectID: p.ProjectID, AgentID: p.TargetAgentID, ArtifactID: p.TargetArtifactID, RunID: p.TargetRunID},
		Limit:         p.Limit,
	})
}
