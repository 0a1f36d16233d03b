package doc

// Comments of people on work.

import (
	"ac/internal/fault"
	"ac/internal/yamldoc"
)

// Comment is inbox/comments/<id>.yaml. It is never edited.
type Comment struct {
	_             struct{}      `is:"strict"`
	SchemaVersion int           `json:"schema_version" is:"min=1"`
	Type          string        `json:"type" is:"enum=comment"`
	ID            string        `json:"id"`
	CreatedAt     string        `json:"created_at" is:"time"`
	AuthorID      string        `json:"author_id"`
	AuthorRole    string        `json:"author_role" is:"role"`
	Visibility    string        `json:"visibility" is:"visibility"`
	Target        CommentTarget `json:"target"`
	Body          string        `json:"body"`
}

// CommentTarget is the subject of a comment: an agent, an artifact, a run, or several of
// these, within one project.
type CommentTarget struct {
	_          struct{} `is:"strict"`
	ProjectID  string   `json:"project_id"`
	AgentID    string   `json:"agent_id,omitempty" is:"optional"`
	ArtifactID string   `json:"artifact_id,omitempty" is:"optional"`
	RunID      string   `json:"run_id,omitempty" is:"optional"`
}

// Check requires at least one target within the project.
func (t *CommentTarget) Check() []fault.Issue {
	if t.AgentID == "" && t.ArtifactID == "" && t.RunID == "" {
		return []fault.Issue{{Code: "custom", Message: "needs agent_id, artifact_id or run_id"}}
	}
	return nil
}

// CommentCodec reads and writes comments.
var CommentCodec = yamldoc.For[Comment]()
