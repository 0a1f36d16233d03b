package runs

// Comments on the changes of a run: how they are stored, and how the agent receives them.

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"unicode"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
)

// ReviewComment is a comment on lines in a file that a run changed.
type ReviewComment struct {
	Path    string
	Side    string // old or new
	Line    int
	LineTo  int // the last line, 0 for a single line
	Body    string
	Excerpt string // the lines that the reviewer saw, may be ""
}

// CheckPath returns why Path is invalid, "" if it is valid. Text puts Path on a single line, so
// it must not contain line breaks.
func (c *ReviewComment) CheckPath() string {
	if !fs.ValidPath(c.Path) || strings.ContainsFunc(c.Path, unicode.IsControl) {
		return "must be the path of a file in the repository"
	}
	return ""
}

// Text formats the comment with its position and the quoted lines. It is the body of the
// comment's document, from which the comment is parsed back, and the text that the agent
// receives.
func (c *ReviewComment) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d", c.Path, c.Line)
	if c.LineTo > c.Line {
		fmt.Fprintf(&b, "-%d", c.LineTo)
	}
	b.WriteString(" (" + c.Side + ")\n")
	for _, line := range quoted(c.Excerpt) {
		b.WriteString("> " + line + "\n")
	}
	b.WriteString(strings.TrimSpace(c.Body))
	return b.String()
}

// quoted splits an excerpt into lines, nil if it is empty.
func quoted(excerpt string) []string {
	excerpt = strings.Trim(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(excerpt), "\n")
	if excerpt == "" {
		return nil
	}
	return strings.Split(excerpt, "\n")
}

// ReviewText returns the message for the agent: all comments, followed by text.
func ReviewText(comments []ReviewComment, text string) string {
	parts := []string{"Comments on your changes:"}
	for i := range comments {
		parts = append(parts, comments[i].Text())
	}
	if text = strings.TrimSpace(text); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// Reviewed is the payload of run.reviewed: the comments of one review. ClientMessageID is the id
// that the client assigned to the review.
type Reviewed struct {
	ClientMessageID string            `json:"client_message_id"`
	Comments        []ReviewedComment `json:"comments"`
}

// ReviewedComment is the position of one comment in a review.
type ReviewedComment struct {
	CommentID string `json:"comment_id"`
	Path      string `json:"path"`
	Side      string `json:"side"`
	Line      int    `json:"line"`
	LineTo    int    `json:"line_to,omitempty"`
	Excerpt   string `json:"excerpt,omitempty"`
}

// NewReviewed returns the payload for comments. ids are their ids, in the same order.
func NewReviewed(client string, comments []ReviewComment, ids []string) Reviewed {
	r := Reviewed{client, make([]ReviewedComment, len(comments))}
	for i, c := range comments {
		r.Comments[i] = ReviewedComment{ids[i], c.Path, c.Side, c.Line, c.LineTo, c.Excerpt}
	}
	return r
}

// CommentIDs returns the ids of the review's comments.
func (r Reviewed) CommentIDs() []string {
	ids := make([]string, len(r.Comments))
	for i, c := range r.Comments {
		ids[i] = c.CommentID
	}
	return ids
}

// ReviewedBefore returns the review that a client recorded under an id in a run's log.
func ReviewedBefore(w *workspace.Workspace, project, run, client string) (before Reviewed, ok bool, err error) {
	err = session.EachEvent(w, workspace.LogFile(project, run), func(kind string, line []byte) {
		if ok || kind != events.RunReviewed {
			return
		}
		var e struct {
			Payload Reviewed `json:"payload"`
		}
		if json.Unmarshal(line, &e) == nil && e.Payload.ClientMessageID == client {
			before, ok = e.Payload, true
		}
	})
	return before, ok, err
}
