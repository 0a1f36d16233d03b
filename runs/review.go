package runs

// Comments on what a run changed: how they are written down, and how the agent reads them.

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

// ReviewComment is a comment on lines of a file that a run changed.
type ReviewComment struct {
	Path    string
	Side    string // old or new
	Line    int
	LineTo  int // the last line, 0 for one line
	Body    string
	Excerpt string // the lines as they were seen, may be ""
}

// CheckPath says why a text cannot name a file of a review, or "". The name is part of a line
// of the comment, so that it holds no line ends.
func (c *ReviewComment) CheckPath() string {
	if !fs.ValidPath(c.Path) || strings.ContainsFunc(c.Path, unicode.IsControl) {
		return "must be the path of a file in the repository"
	}
	return ""
}

// Text is the comment with its place and the lines that it quotes: the body of its document,
// which is read back from it, and what the agent gets.
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

// quoted are the lines of an excerpt, none of nothing.
func quoted(excerpt string) []string {
	excerpt = strings.Trim(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(excerpt), "\n")
	if excerpt == "" {
		return nil
	}
	return strings.Split(excerpt, "\n")
}

// ReviewText is what the agent gets: all comments, and a text behind them.
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

// Reviewed is the payload of run.reviewed: the comments of one review, by the id that its
// client gave it.
type Reviewed struct {
	ClientMessageID string            `json:"client_message_id"`
	Comments        []ReviewedComment `json:"comments"`
}

// ReviewedComment is where a comment of a review is.
type ReviewedComment struct {
	CommentID string `json:"comment_id"`
	Path      string `json:"path"`
	Side      string `json:"side"`
	Line      int    `json:"line"`
	LineTo    int    `json:"line_to,omitempty"`
	Excerpt   string `json:"excerpt,omitempty"`
}

// NewReviewed is the payload for comments with their ids, in the same order.
func NewReviewed(client string, comments []ReviewComment, ids []string) Reviewed {
	r := Reviewed{client, make([]ReviewedComment, len(comments))}
	for i, c := range comments {
		r.Comments[i] = ReviewedComment{ids[i], c.Path, c.Side, c.Line, c.LineTo, c.Excerpt}
	}
	return r
}

// CommentIDs are the ids of the comments.
func (r Reviewed) CommentIDs() []string {
	ids := make([]string, len(r.Comments))
	for i, c := range r.Comments {
		ids[i] = c.CommentID
	}
	return ids
}

// ReviewedBefore is the review that a client wrote under an id, in the log of a run.
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
