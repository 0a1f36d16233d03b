package decisions

// comment.*: adding and listing comments.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// AddCommentParams are the params of comment.add.
type AddCommentParams struct {
	company.Dir
	ProjectID        string `json:"project_id" is:"id"`
	AuthorID         string `json:"author_id"`
	AuthorRole       string `json:"author_role" is:"role"`
	Body             string `json:"body" is:"maxbytes=65536"`
	TargetAgentID    string `json:"target_agent_id" is:"optional,id"`
	TargetArtifactID string `json:"target_artifact_id" is:"optional,id"`
	TargetRunID      string `json:"target_run_id" is:"optional,id"`
	Visibility       string `json:"visibility" is:"default=managers,visibility"`
}

// CheckFields refuses targets that are not valid ids when trimmed.
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
func (c Operations) AddComment(ctx context.Context, p AddCommentParams) (AddCommentResult, error) {
	made, err := governance.AddComment(ctx, c.Workspace(), governance.NewComment{
		AuthorID: p.AuthorID, AuthorRole: p.AuthorRole, Visibility: p.Visibility, Body: p.Body,
		Target: doc.CommentTarget{ProjectID: p.ProjectID, AgentID: p.TargetAgentID, ArtifactID: p.TargetArtifactID, RunID: p.TargetRunID},
	})
	return AddCommentResult{CommentID: made.ID, Comment: made}, err
}
