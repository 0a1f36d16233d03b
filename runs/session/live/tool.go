package live

// Questions that the agent asks through ac's own tools.

import (
	"slices"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

// answerTool passes an answer to the tool that asked.
func (i *openRequest) answerTool(a agent.Answer) {
	record := i.Record
	if i.State == interaction.Answered {
		record.Answers = a.Answers
		if i.Kind == interaction.Input {
			record.Text = &a.Text
		}
	}
	i.resolved(record)
}

// AskTool puts a tool's question to people. The question is durable on return.
func (c *Conversation) AskTool(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (interaction.Record, error) {
	switch {
	case c.closing:
		return interaction.Record{}, fault.New(fault.RunNotLive, "the session of run %s is over", c.s.Order.RunID)
	case len(c.open) >= interaction.MaxOpen:
		return interaction.Record{}, fault.New(fault.TooManyOpen, "%d interactions of this run are open", interaction.MaxOpen)
	}
	if expires == 0 && r.Kind == interaction.Question {
		expires = time.Duration(c.order.QuestionMS) * time.Millisecond
	}
	now := c.s.Workspace.Env.Clock.Now()
	r.InteractionID, r.Turn, r.RequestedAt = c.s.Workspace.Env.IDs.New("int"), c.turns, clock.Stamp(now)
	if expires > 0 {
		r.ExpiresAt = new(clock.Stamp(now.Add(expires)))
	}
	i := &openRequest{request: agent.Request{Kind: r.Kind}, resolved: resolved}
	i.Request, i.State = r, interaction.Open
	d := c.draft(events.InteractionRequested, r)
	d.Actor, d.Visibility = c.s.Order.AgentID, events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return interaction.Record{}, fault.New(fault.IO, "the question could not be recorded: %w", err)
	}
	if expires > 0 {
		c.startTimer(r.InteractionID, expires, func() { c.expire(i) })
	}
	c.open = append(c.open, i)
	c.cancelTimer("idle") // restarts after the answer
	return i.Record, nil
}

// CurrentPolicy returns the current policy, and whether the session is ending.
func (c *Conversation) CurrentPolicy() (doc.RunPolicy, bool) { return c.policy, c.closing }

// waitsForTool reports whether a tool's question is unanswered.
func (c *Conversation) waitsForTool() bool {
	return slices.ContainsFunc(c.open, func(i *openRequest) bool { return i.resolved != nil })
}

// startIdleTimer starts the idle timer of a session that may stay open. An open question of a tool counts
// as work.
func (c *Conversation) startIdleTimer() {
	if c.order.KeepOpen && c.opened && !c.closing && c.turn == nil && !c.waitsForTool() {
		c.startTimer("idle", time.Duration(c.order.IdleMS)*time.Millisecond, c.closeIdle)
	}
}
