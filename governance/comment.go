package governance

// Comments: adding them with their event, and listing them.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// NewComment is a comment on an agent, an artifact or a run.
type NewComment struct {
	AuthorID   string
	AuthorRole string
	Visibility string
	Target     doc.CommentTarget
	Body       string
}

// commentPayload is the payload of comment.added.
type commentPayload struct {
	CommentID  string `json:"comment_id"`
	ProjectID  string `json:"project_id"`
	AgentID    string `json:"agent_id,omitempty"`
	ArtifactID string `json:"artifact_id,omitempty"`
	Body       string `json:"body"`
}

// AddComment writes a comment and, if the commented run exists, an event in its log. Both are
// durable on return. The project must exist; the target of the comment need not.
func AddComment(ctx context.Context, w *workspace.Workspace, c NewComment) (doc.Comment, error) {
	comment, err := c.comment(w)
	if err != nil {
		return comment, err
	}
	return comment, w.Update(ctx, func(u *workspace.Unit) error {
		return writeComment(u, comment, func(log string, draft events.Draft) { u.Append(log, draft) })
	})
}

// PutComments writes comments in a unit, each with its event, and returns their ids.
func PutComments(u *workspace.Unit, comments []NewComment) (ids []string, err error) {
	for _, c := range comments {
		made, err := c.comment(u.Workspace())
		if err == nil {
			err = writeComment(u, made, func(log string, draft events.Draft) { u.Append(log, draft) })
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, made.ID)
	}
	return ids, nil
}

// Comment is AddComment in a unit that checks the policy. The comment's event keeps its place in
// the order of the unit's other events.
func (g *PolicyUnit) Comment(c NewComment) (doc.Comment, error) {
	comment, err := c.comment(g.Workspace())
	if err != nil {
		return comment, err
	}
	return comment, writeComment(g.Unit, comment, func(log string, draft events.Draft) {
		g.pendingEvents = append(g.pendingEvents, pendingEvent{log, draft, false})
	})
}

// comment returns the document of the comment, created now.
func (c NewComment) comment(w *workspace.Workspace) (doc.Comment, error) {
	now := w.Env.Clock.Now()
	comment := doc.Comment{
		SchemaVersion: doc.Version, Type: "comment", CreatedAt: clock.Stamp(now), AuthorID: c.AuthorID, AuthorRole: c.AuthorRole,
		Visibility: c.Visibility, Body: strings.TrimSpace(c.Body), Target: doc.CommentTarget{
			ProjectID: c.Target.ProjectID, AgentID: strings.TrimSpace(c.Target.AgentID),
			ArtifactID: strings.TrimSpace(c.Target.ArtifactID), RunID: strings.TrimSpace(c.Target.RunID),
		},
	}
	if comment.Body == "" {
		return comment, fault.New(fault.Incomplete, "a comment needs a body")
	}
	if comment.Target.Check() != nil {
		return comment, fault.New(fault.Incomplete, "a comment needs a target: an agent, an artifact or a run")
	}
	comment.ID = w.Env.IDs.New("cmt")
	return comment, nil
}

func writeComment(u *workspace.Unit, c doc.Comment, tell func(log string, draft events.Draft)) error {
	w := u.Workspace()
	if _, err := w.Project(c.Target.ProjectID); err != nil {
		return err
	}
	if err := workspace.Put(u, doc.CommentCodec, workspace.CommentFile(c.ID), c, 0o644); err != nil {
		return err
	}
	if c.Target.RunID == "" {
		return nil
	}
	if !RunExists(w, c.Target.ProjectID, c.Target.RunID) {
		return nil
	}
	log := workspace.LogFile(c.Target.ProjectID, c.Target.RunID)
	if st, err := w.FS.Stat(log); !errors.Is(err, fs.ErrNotExist) && (err != nil || !st.Mode().IsRegular()) {
		return nil //nolint:nilerr // what is there takes no events
	}
	at, _ := clock.Parse(c.CreatedAt)
	draft, err := w.Events.Draft(events.Draft{
		At: at, RunID: c.Target.RunID, SessionRef: "local_comment_" + c.ID, Actor: c.AuthorID, Visibility: c.Visibility, Type: events.CommentAdded,
	}, commentPayload{CommentID: c.ID, ProjectID: c.Target.ProjectID, AgentID: c.Target.AgentID, ArtifactID: c.Target.ArtifactID, Body: c.Body})
	if err != nil {
		return err
	}
	tell(log, draft)
	return nil
}

// CommentFilter selects comments. Empty fields match all, except for the project.
type CommentFilter struct {
	doc.CommentTarget
	Limit int
}

func (f CommentFilter) matches(t doc.CommentTarget) bool {
	fits := func(asked, is string) bool { return asked == "" || asked == is }
	return f.ProjectID == t.ProjectID && fits(f.AgentID, t.AgentID) && fits(f.ArtifactID, t.ArtifactID) && fits(f.RunID, t.RunID)
}

// ReadComments lists the comments of a project from their files, newest first. It skips invalid
// files and files whose name is not their id.
func ReadComments(w *workspace.Workspace, f CommentFilter) ([]doc.Comment, error) {
	names, err := workspace.Files(w.FS, workspace.CommentsDir, ".yaml")
	if err != nil {
		return nil, err
	}
	all := workspace.ReadEach(names, func(name string) (doc.Comment, error) {
		file := path.Join(workspace.CommentsDir, name)
		c, err := workspace.Load(w, doc.CommentCodec, file)
		if err != nil {
			return c, err
		}
		return c, workspace.CheckID(file, strings.TrimSuffix(name, ".yaml"), c.ID)
	})
	found := slices.DeleteFunc(all, func(c doc.Comment) bool { return !f.matches(c.Target) })
	slices.SortFunc(found, func(a, b doc.Comment) int {
		at, _ := clock.Parse(a.CreatedAt)
		bt, _ := clock.Parse(b.CreatedAt)
		return cmp.Or(bt.Compare(at), cmp.Compare(b.ID, a.ID))
	})
	return found[:min(f.Limit, len(found))], nil
}

// CheckCommentTarget returns why the trimmed text of a target cannot be an id, "" if it can.
func CheckCommentTarget(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return shape.CheckID(text)
}
