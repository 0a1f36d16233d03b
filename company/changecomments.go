package company

// Comments on lines of what a run changed.

import (
	"context"
	"io/fs"
	"strconv"
	"strings"

	"ac/governance"
	"ac/index"
	"ac/index/source"
	"ac/internal/redact"
	"ac/workspace/doc"
)

// changesComments bounds how many comments of a run are looked at.
const changesComments = 500

// ChangeComment is a comment on a run with the lines that it is about.
type ChangeComment struct {
	CommentID  string `json:"comment_id"`
	At         string `json:"at"`
	AuthorID   string `json:"author_id"`
	AuthorRole string `json:"author_role"`
	Path       string `json:"path"`
	Side       string `json:"side"` // old or new
	Line       int    `json:"line"`
	LineTo     int    `json:"line_to,omitempty"`
	// Excerpt is the lines as they were when the comment was written.
	Excerpt string `json:"excerpt,omitempty"`
	Text    string `json:"text"`
}

// placed reads the place of a comment from its body, which begins with a line that names
// it and with the lines that it quotes. Comments on a run as a whole have no place.
func placed(comment doc.Comment) (c ChangeComment, ok bool) {
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

// at takes the place from the line that names it: PATH:LINE (new), or PATH:FROM-TO (old).
func (c *ChangeComment) at(head string) bool {
	bracket := max(strings.LastIndex(head, " ("), 0) // the path may hold others
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

// changeComments are the comments on lines of what a run changed, the oldest first.
func (c *Company) changeComments(ctx context.Context, p ChangesParams) ([]ChangeComment, error) {
	all, err := c.commentsAbout(ctx, doc.CommentTarget{ProjectID: p.ProjectID, RunID: p.RunID}, changesComments)
	found, redactor := []ChangeComment{}, redact.NewRedactor(nil)
	for i := len(all) - 1; i >= 0; i-- {
		comment, ok := placed(all[i])
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

// commentsAbout lists the comments on a target, newest first.
func (c *Company) commentsAbout(ctx context.Context, about doc.CommentTarget, limit int) ([]doc.Comment, error) {
	list, err := indexedComments(ctx, c.Index(), about, limit)
	if err != nil && ctx.Err() == nil {
		// The files are the truth: without an index it takes longer.
		return governance.ReadComments(c.w, governance.CommentFilter{CommentTarget: about, Limit: limit})
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
