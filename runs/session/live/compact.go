package live

// Compaction of a conversation. An agent that can compact its own context does so, queued among
// the turns. For any other agent, a new conversation begins with a digest of the old one.

import (
	"cmp"
	"errors"
	"fmt"
	"path"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

// compact queues a compaction. The request is durable on return.
func (c *Conversation) compact(p session.CompactRequest) (session.CompactResult, error) {
	if err := c.checkLive(); err != nil {
		return session.CompactResult{}, err
	}
	if !c.opened && !c.s.Order.PerTurn() {
		return session.CompactResult{}, fault.New(fault.RunBusy, "the conversation of run %s is just beginning", c.s.Order.RunID).With(busyData{c.turns})
	}
	result := session.CompactResult{Accepted: true, How: session.CompactDigest}
	if c.driver != nil && c.driver.Compacts() {
		result.How = session.CompactProvider
	}
	d := c.draft(events.CompactRequested, session.CompactRequestedPayload{How: result.How})
	d.Actor, d.Visibility = cmp.Or(p.Actor, "human"), events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return session.CompactResult{}, fault.New(fault.IO, "the wish could not be recorded: %w", err)
	}
	if c.s.Order.PerTurn() { // each of its processes begins with a digest
		c.queueEvent(c.draft(events.Compacted, session.CompactedPayload{How: session.CompactDigest, OK: true}))
		return result, nil
	}
	// It is queued like a text that has a turn of its own.
	s := &steer{compacts: result.How}
	s.Mode = session.ModeAfterTurn
	c.waiting = append(c.waiting, s)
	c.next()
	return result, nil
}

// beginCompact compacts an idle conversation.
func (c *Conversation) beginCompact(how string) {
	c.cancelTimer("idle")
	if how == session.CompactDigest {
		c.restartWithDigest()
		return
	}
	c.turn = &turn{number: c.turns, began: c.s.Workspace.Env.Clock.Now(), compacting: true}
	id := fmt.Sprintf("compact_%s_%s", c.s.Order.RunID, c.s.Workspace.Env.IDs.New("compact"))
	switch err := c.driver.Compact(agent.Prompt{ID: id}); {
	case errors.Is(err, agent.ErrQueue): // it no longer can
		c.recordCompacted(session.CompactProvider, err)
		c.next()
	case err != nil:
		c.handleSendError(err)
	}
}

// recordCompacted records the outcome of a compaction.
func (c *Conversation) recordCompacted(how string, err error) {
	c.turn = nil
	p := session.CompactedPayload{How: how, OK: err == nil}
	if err != nil {
		p.Error = clip.Head(c.masked(err.Error()), session.MaxError)
	}
	c.queueEvent(c.draft(events.Compacted, p))
}

// restartWithDigest restarts the agent, for a conversation that begins with a digest. A session with
// nothing more to send ends instead, and the next session begins that way.
func (c *Conversation) restartWithDigest() {
	if err := c.s.Recorder.Commit(c.draft(events.Compacted, session.CompactedPayload{How: session.CompactDigest, OK: true})); err != nil {
		return // the recorder stops the session
	}
	if len(c.waiting) == 0 && !c.order.KeepOpen {
		c.next()
		return
	}
	if err := c.prepareDigest(); err != nil {
		c.fail("", err)
		return
	}
	c.spent, c.restart, c.opened = c.used, true, false
	spent := spentOf(c.spent)
	c.s.Note(c.ctx, func(run *doc.Run) {
		if run.Live != nil {
			run.Live.ThreadBaseline, run.Live.ThreadSpent = nil, spent
		}
	})
	c.endProcess()
}

// prepareDigest makes the session's next conversation begin with a digest of the run.
func (c *Conversation) prepareDigest() error {
	fold, seq := transcript.NewBrief(c.s.Order.ProjectID), int64(0)
	err := session.EachEvent(c.s.Workspace, workspace.LogFile(c.s.Order.ProjectID, c.s.Order.RunID), func(_ string, line []byte) {
		seq++
		fold.Advance(seq, line)
	})
	if err != nil {
		return err
	}
	o := c.order
	o.Prompt, o.ClientMessageID, o.Display, o.Cause = "", "", session.Display{}, causeSteer
	o.Thread, o.MustResume, o.Baseline = "", false, nil
	o.Preamble = fold.Digest(c.s.Order.RunID)
	o.Digest = path.Join("runs", c.s.Order.RunID, "outputs", fmt.Sprintf("digest-turn-%d.md", c.turns+1))
	return nil
}

// sum adds what the session's earlier processes used to what the current one did.
func (c *Conversation) sum(r usage.Report) usage.Report {
	switch {
	case c.spent.Total == 0 && c.spent.CostUSD == nil:
	case r.CostUSD != nil && c.spent.CostUSD != nil:
		r.Counters, r.CostUSD = c.spent.Plus(r.Counters), new(*r.CostUSD+*c.spent.CostUSD)
	default:
		r.Counters, r.CostUSD = c.spent.Plus(r.Counters), nil // known for only one part
	}
	c.used = r
	return r
}
