package decisions

// comment.*: adding and listing comments.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/index"
	"ac/index/source"
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

// CheckFields rejects targets that are not valid ids when trimmed.
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

// ListCommentsParams are the params of comment.list.
type ListCommentsParams struct {
	company.Dir
	ProjectID        string `json:"project_id" is:"id"`
	TargetAgentID    string `json:"target_agent_id" is:"optional,id"`
	TargetArtifactID string `json:"target_artifact_id" is:"optional,id"`
	TargetRunID      string `json:"target_run_id" is:"optional,id"`
	Limit            int    `json:"limit" is:"default=300,min=1,cut=5000"`
}

// ListComments lists the comments of a project, newest first. A folder that is not a workspace
// has none.
func (c Folder) ListComments(ctx context.Context, p ListCommentsParams) ([]doc.Comment, error) {
	in, err := c.Enter(ctx)
	if fault.Is(err, fault.NotAWorkspace) {
		return []doc.Comment{}, nil
	}
	if err != nil {
		return nil, err
	}
	about := doc.CommentTarget{ProjectID: p.ProjectID, AgentID: p.TargetAgentID, ArtifactID: p.TargetArtifactID, RunID: p.TargetRunID}
	return Operations{In: company.In{Company: in}}.commentsAbout(ctx, about, p.Limit)
}

// commentsAbout lists the comments on a target, newest first.
func (c Operations) commentsAbout(ctx context.Context, about doc.CommentTarget, limit int) ([]doc.Comment, error) {
	list, err := indexedComments(ctx, c.Index(), about, limit)
	if err != nil && ctx.Err() == nil {
		// The files are authoritative. Reading them without the index takes longer.
		return governance.ReadComments(c.Workspace(), governance.CommentFilter{CommentTarget: about, Limit: limit})
	}
	return list, err
}

// indexedComments lists comments from the index, after syncing it.
func indexedComments(ctx context.Context, ix *index.Index, about doc.CommentTarget, limit int) (list []doc.Comment, err error) {
	if _, err := ix.SyncOnly(ctx, source.Scope{Kinds: source.Comments}); err != nil {
		return nil, err
	}
	err = ix.View(ctx, func(v *index.View) (err error) {
		list, err = v.Comments(index.CommentFilter{
			ProjectID: about.ProjectID, AgentID: about.AgentID, ArtifactID: about.ArtifactID, RunID: about.RunID, Limit: limit,
		})
		return err
	})
	return list, err
}
