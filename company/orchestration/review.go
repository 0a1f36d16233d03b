package orchestration

// run.review: comments on what a run changed, sent to its agent.

import (
	"context"
	"slices"
	"strings"

	"ac/events"
	"ac/governance"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Ways to send a review to an agent.
const (
	deliverAuto     = "auto"
	deliverSteer    = "steer"
	deliverContinue = "continue"
)

// ReviewParams are the params of run.review.
type ReviewParams struct {
	actParams
	Comments        []ReviewedLine `json:"comments" is:"minitems=1"`
	Text            string         `json:"text,omitempty" is:"optional,empty,maxbytes=65536"`
	Deliver         string         `json:"deliver" is:"default=auto,enum=auto|steer|continue"`
	ClientMessageID string         `json:"client_message_id" is:"maxbytes=200"`
}

// ReviewedLine is a comment on lines of a file. LineTo is the last of several lines.
type ReviewedLine struct {
	Path    string `json:"path"`
	Side    string `json:"side" is:"enum=old|new"`
	Line    int    `json:"line" is:"min=1"`
	LineTo  int    `json:"line_to,omitempty" is:"optional,min=1"`
	Body    string `json:"body" is:"maxbytes=16384"`
	Excerpt string `json:"excerpt,omitempty" is:"optional,empty,maxbytes=16384"`
}

func (l *ReviewedLine) comment() runs.ReviewComment {
	return runs.ReviewComment{Path: l.Path, Side: l.Side, Line: l.Line, LineTo: l.LineTo, Body: l.Body, Excerpt: l.Excerpt}
}

// mostComments bounds the comments of one review.
const mostComments = 50

// CheckFields rejects too many comments, invalid paths and lines, and a review that is too long
// for an agent.
func (p *ReviewParams) CheckFields() (issues []fault.Issue) {
	if len(p.Comments) > mostComments {
		issues = append(issues, fault.Issue{Path: []any{"comments"}, Code: "custom", Message: "must have at most 50 items"})
	}
	for i := range p.Comments {
		c, comment := &p.Comments[i], p.Comments[i].comment()
		if why := comment.CheckPath(); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"comments", i, "path"}, Code: "custom", Message: why})
		}
		if c.LineTo != 0 && c.LineTo < c.Line {
			issues = append(issues, fault.Issue{Path: []any{"comments", i, "line_to"}, Code: "custom", Message: "must not be before line"})
		}
		if strings.TrimSpace(c.Body) == "" {
			issues = append(issues, fault.Issue{Path: []any{"comments", i, "body"}, Code: "custom", Message: "must not be blank"})
		}
	}
	if p.ClientMessageID == "" {
		issues = append(issues, fault.Issue{Path: []any{"client_message_id"}, Code: "custom", Message: "must not be empty"})
	}
	if len(issues) == 0 && len(runs.ReviewText(p.comments(), p.Text)) > maxSteer {
		issues = append(issues, tooLarge(maxSteer, "comments"))
	}
	return issues
}

func (p *ReviewParams) comments() []runs.ReviewComment {
	list := make([]runs.ReviewComment, len(p.Comments))
	for i := range p.Comments {
		list[i] = p.Comments[i].comment()
	}
	return list
}

// ReviewResult is the result of run.review.
type ReviewResult struct {
	Delivered  string   `json:"delivered"` // steer or continue
	SteerID    string   `json:"steer_id,omitempty"`
	SessionRef string   `json:"session_ref,omitempty"`
	CommentIDs []string `json:"comment_ids"`
}

// Review records comments on what a run changed, and then sends them to its agent as one text.
// The comments are durable on return, even if the agent cannot be reached. Review is idempotent
// by ClientMessageID: a repeated call writes nothing twice, and sends the agent only what it has
// not received yet.
func (c Operations) Review(ctx context.Context, p ReviewParams) (result ReviewResult, err error) {
	inflight.Leave(ctx)
	if err := runs.MayAct(ctx, c.Workspace(), p.act()); err != nil {
		return result, err
	}
	if result.CommentIDs, err = c.writeReview(ctx, p); err != nil {
		return result, err
	}
	deliver := p.Deliver
	if deliver == deliverAuto {
		_, record, live, err := runs.LiveSession(ctx, c.Workspace(), p.ProjectID, p.RunID)
		if err != nil {
			return result, err
		}
		if deliver = deliverContinue; live && record.Driver != "" {
			deliver = deliverSteer
		}
	}
	text := runs.ReviewText(p.comments(), p.Text)
	if deliver == deliverSteer {
		said, err := c.Steer(ctx, SteerParams{actParams: p.actParams, Text: text, Mode: session.ModeNextTurn, ClientMessageID: p.ClientMessageID})
		if err == nil || p.Deliver == deliverSteer || !fault.Is(err, fault.RunNotLive) {
			result.Delivered, result.SteerID = deliverSteer, said.SteerID
			return result, err
		} // the session ended meanwhile
	}
	next, err := c.Continue(ctx, ContinueParams{
		actParams: p.actParams, PromptText: &text, ClientMessageID: p.ClientMessageID, resumeParams: resumeParams{Resume: runs.ResumeAuto, LanePriority: "normal"},
	})
	result.Delivered, result.SessionRef = deliverContinue, next.SessionRef
	return result, err
}

// writeReview writes the comments, and the event with their locations. If an earlier call wrote
// them, it returns their ids.
func (c Operations) writeReview(ctx context.Context, p ReviewParams) (ids []string, err error) {
	author := p.act().Actor
	comments := p.comments()
	drafts := make([]governance.NewComment, len(comments))
	for i := range comments {
		drafts[i] = governance.NewComment{
			AuthorID: author.ID, AuthorRole: author.Role, Visibility: events.VisibilityManagers, Body: comments[i].Text(),
			Target: doc.CommentTarget{ProjectID: p.ProjectID, RunID: p.RunID},
		}
	}
	log := workspace.LogFile(p.ProjectID, p.RunID)
	err = c.Workspace().Update(ctx, func(u *workspace.Unit) error {
		before, written, err := runs.ReviewedBefore(c.Workspace(), p.ProjectID, p.RunID, p.ClientMessageID)
		if err != nil || written {
			ids = before.CommentIDs()
			return err
		}
		if ids, err = governance.PutComments(u, drafts); err != nil {
			return err
		}
		draft, err := c.Workspace().Events.Draft(events.Draft{
			At: c.Workspace().Env.Clock.Now(), RunID: p.RunID, SessionRef: "local_" + p.RunID, Actor: author.ID, Visibility: events.VisibilityManagers, Type: events.RunReviewed,
		}, runs.NewReviewed(p.ClientMessageID, comments, ids))
		if err == nil {
			u.Append(log, draft)
		}
		return err
	})
	c.Host().ForgetChanges()
	return slices.Clone(ids), err
}
