package decisions

// Comments on lines that a run changed.

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"ac/internal/redact"
	"ac/workspace/doc"
)

// changesComments bounds how many comments of a run are read.
const changesComments = 500

// ChangeComment is a comment on a run with the lines that it refers to.
type ChangeComment struct {
	CommentID  string `json:"comment_id"`
	At         string `json:"at"`
	AuthorID   string `json:"author_id"`
	AuthorRole string `json:"author_role"`
	Path       string `json:"path"`
	Side       string `json:"side"` // old or new
	Line       int    `json:"line"`
	LineTo     int    `json:"line_to,omitempty"`
	// Excerpt is the commented lines as they were when the comment was written.
	Excerpt string `json:"excerpt,omitempty"`
	Text    string `json:"text"`
}

// parseLineComment parses the location of a comment from its body. The body begins with a line that names
// the location, followed by quoted lines. It reports false for a comment on the run as a whole.
func parseLineComment(comment doc.Comment) (c ChangeComment, ok bool) {
	head, rest, _ := strings.Cut(strings.ReplaceAll(comment.Body, "\r\n", "\n"), "\n")
	c = ChangeComment{CommentID: comment.ID, At: comment.CreatedAt, AuthorID: comment.AuthorID, AuthorRole: comment.AuthorRole}
	if !c.at(head) {
		return c, false
	}
	var quoted []string
	for {
		line, after, more := strings.Cut(rest, "\n")
		text, isQuote := strings.CutPrefix(line, ">")
		if !isQuote {
			break
		}
		quoted = append(quoted, strings.TrimPrefix(text, " "))
		if rest = after; !more {
			break
		}
	}
	c.Excerpt, c.Text = strings.Join(quoted, "\n"), strings.TrimSpace(rest)
	return c, true
}

// at parses the location from its line: PATH:LINE (new), or PATH:FROM-TO (old).
func (c *ChangeComment) at(head string) bool {
	bracket := max(strings.LastIndex(head, " ("), 0) // the path may contain others
	place, side := head[:bracket], head[bracket:]
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 || side != " (old)" && side != " (new)" || !fs.ValidPath(place[:colon]) {
		return false
	}
	from, to, ranged := strings.Cut(place[colon+1:], "-")
	first, err := strconv.ParseUint(from, 10, 31)
	last, lastErr := uint64(0), error(nil)
	if ranged {
		last, lastErr = strconv.ParseUint(to, 10, 31)
	}
	c.Path, c.Side, c.Line, c.LineTo = place[:colon], strings.Trim(side, " ()"), int(first), int(last)
	return err == nil && lastErr == nil && first > 0 && (!ranged || last >= first)
}

// changeComments returns the comments on lines that a run changed, oldest first.
func (c Operations) changeComments(ctx context.Context, p ChangesParams) ([]ChangeComment, error) {
	all, err := c.commentsAbout(ctx, doc.CommentTarget{ProjectID: p.ProjectID, RunID: p.RunID}, changesComments)
	found, redactor := []ChangeComment{}, redact.NewRedactor(nil)
	for i := len(all) - 1; i >= 0; i-- {
		comment, ok := parseLineComment(all[i])
		if !ok {
			continue
		}
		if p.Mask {
			comment.Excerpt, comment.Text = redactor.Text(comment.Excerpt), redactor.Text(comment.Text)
		}
		found = append(found, comment)
	}
	return found, err
}
