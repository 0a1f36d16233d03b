package live

// Turns: their beginning, their end, and what follows.

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"ac/events"
	"ac/internal/clip"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/session/output"
	"ac/workspace/doc"
)

// turn is the current turn.
type turn struct {
	number       int
	began        time.Time
	provider     string // the agent's own turn id
	interrupting bool   // somebody requested its end
	compacting   bool   // the agent is compacting its context
}

// TurnEnd describes how the newest turn ended.
type TurnEnd struct {
	agent.Outcome
	reason string // our reason, "" if the agent ended it
}

// opening describes what a turn begins with.
type opening struct {
	cause  string
	text   string // text not yet recorded elsewhere
	model  string
	steers []*steer
	actor  string
	session.Display
	client string // the client's id of the text
}

// Causes of turns.
const (
	causePrompt = "prompt"
	causeSteer  = "steer"
)

// HandshakeSucceeded handles the end of the handshake.
func (c *Conversation) HandshakeSucceeded(talk agent.Conversation) {
	c.cancelTimer("handshake")
	c.talk, c.opened = talk, true
	c.resumed = resumedNo
	switch {
	case talk.Resumed:
		c.resumed = resumedProvider
	case c.order.Preamble != "":
		c.resumed = resumedDigest
	}
	c.queueEvent(c.draft(events.AgentStarted, agentStartedPayload{
		Driver: c.order.Driver, AgentName: clipped(talk.Name), AgentVersion: clipped(talk.Version), ProtocolVersion: talk.Protocol,
		ThreadID: talk.Thread, Resumed: c.resumed, ResumeError: c.masked(cmp.Or(talk.ResumeError, c.resumeError)), Capabilities: talk.Capabilities, AgentMode: talk.Mode,
	}))
	c.s.Note(c.ctx, func(run *doc.Run) {
		if run.Spec != nil && run.Spec.Kind == doc.KindAppServer {
			run.Spec.ThreadID = talk.Thread
		}
		run.ProviderSessionID = cmp.Or(talk.Thread, run.ProviderSessionID)
		if run.Live != nil {
			run.Live.AgentName, run.Live.AgentVersion = clipped(talk.Name), clipped(talk.Version)
		}
	})
	c.first()
	// Write this after the first turn began: clients that wait for the conversation also need its
	// turn.
	c.s.Amend(true, func(r *doc.Session) {
		r.ThreadID, r.Resumed, r.ResumeError = cmp.Or(talk.Thread, r.ThreadID), c.resumed, c.masked(cmp.Or(talk.ResumeError, c.resumeError))
		r.Turn = c.turns
	})
}

// first starts the first turn of the session, if there is anything to send.
func (c *Conversation) first() {
	o := opening{cause: c.order.Cause, text: c.order.Prompt, actor: c.order.ActorID, Display: c.order.Display, client: c.order.ClientMessageID}
	if c.preamble = ""; !c.talk.Resumed {
		c.preamble = c.order.Preamble
	}
	blank := strings.TrimSpace(o.text) == ""
	if blank && (len(c.waiting) == 0 || c.waiting[0].compacts != "") {
		c.next()
		return
	}
	o.steers = c.batch(blank)
	if blank {
		o.actor = o.steers[0].actor
	}
	if blank && c.turns == c.order.Turns { // they are the session's prompt
		if err := c.s.Workspace.Replace(path.Join(c.s.OutDir, "prompt.txt"), []byte(c.masked(joinTexts(o.steers))), 0o644); err != nil {
			c.fail("", err)
			return
		}
	}
	_ = c.beginTurn(o) // a failure has ended the session
}

// joinTexts returns the full texts, joined.
func joinTexts(steers []*steer) string {
	said := make([]string, len(steers))
	for i, s := range steers {
		said[i] = s.full
	}
	return strings.Join(said, "\n\n")
}

// HandshakeFailed handles a failed handshake.
func (c *Conversation) HandshakeFailed(b agent.HandshakeFailure) {
	c.cancelTimer("handshake")
	if b.Restart {
		c.restart, c.resumeError = true, b.Error
		c.order.Thread, c.order.Baseline = "", nil
		c.endProcess()
		return
	}
	c.fail(b.Reason, errors.New(c.masked(b.Error)))
}

// beginTurn records the start of a turn and then sends its text to the agent.
func (c *Conversation) beginTurn(o opening) error {
	c.cancelTimer("idle")
	number := c.turns + 1
	text, size, cut, err := c.storeText(o.text, c.turnFile(o.cause, number))
	if err != nil {
		return err
	}
	ids, said := []string{}, []string{}
	if strings.TrimSpace(o.text) != "" {
		said = append(said, o.text)
	}
	for _, s := range o.steers {
		ids, said = append(ids, s.ID), append(said, s.full)
	}
	digest := ""
	if c.preamble != "" {
		digest = c.order.Digest
		if err := c.s.Workspace.Replace(path.Join(c.s.OutDir, path.Base(digest)), []byte(c.masked(c.preamble)), 0o644); err != nil {
			c.fail("", err)
			return err
		}
	}
	d := c.draft(events.TurnStarted, session.TurnStartedPayload{
		Turn: number, Cause: o.cause, Text: text, TextBytes: size, Truncated: cut, Digest: digest, SteerIDs: ids,
		Display: o.Display, ClientMessageID: o.client, Model: o.model,
	})
	d.Actor, d.Visibility = cmp.Or(o.actor, "human"), events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return err // the recorder stops the session
	}
	c.turns, c.turn = number, &turn{number: number, began: c.s.Workspace.Env.Clock.Now()}
	c.s.Reading.BeginTurn()
	whole := strings.Join(said, "\n\n")
	if c.preamble != "" {
		whole, c.preamble = c.preamble+"\n---\n"+whole, ""
	}
	c.units += output.Length(whole)
	for _, s := range o.steers {
		c.recordApplied(s, number, s.fresh())
	}
	c.s.Note(c.ctx, func(run *doc.Run) {
		if run.Live != nil {
			run.Live.Turns = number
		}
	})
	if err := c.driver.Prompt(agent.Prompt{ID: fmt.Sprintf("turn_%s_%d", c.s.Order.RunID, number), Text: whole, Model: o.model}); err != nil {
		c.handleSendError(err)
	}
	return nil
}

// turnFile returns the name of the file that holds a turn's full text.
func (c *Conversation) turnFile(cause string, number int) string {
	if cause == session.CauseLaunch || cause == session.CauseContinue {
		return "prompt.txt"
	}
	return fmt.Sprintf("turn-%d.txt", number)
}

// Accepted records the agent's own id of the turn.
func (c *Conversation) Accepted(id string) {
	if c.turn == nil || c.turn.compacting || id == "" {
		return
	}
	c.turn.provider = id
	c.queueEvent(c.draft(events.TurnAccepted, turnAcceptedPayload{c.turn.number, id}))
	c.s.Amend(true, func(r *doc.Session) { r.TurnID = id })
	c.s.Note(c.ctx, func(run *doc.Run) {
		if run.Spec != nil && run.Spec.Kind == doc.KindAppServer {
			run.Spec.TurnID = id
		}
	})
}

// TurnBegan records a turn that the agent started by itself, for a steer sent earlier.
func (c *Conversation) TurnBegan(id string) {
	if c.turn != nil {
		return
	}
	c.cancelTimer("idle")
	c.cancelTimer("settling")
	c.turns++
	c.turn = &turn{number: c.turns, began: c.s.Workspace.Env.Clock.Now()}
	c.s.Reading.BeginTurn()
	ids, actor := []string{}, "human"
	s := c.take(id)
	if s != nil {
		ids, actor = append(ids, id), s.actor
	}
	d := c.draft(events.TurnStarted, session.TurnStartedPayload{Turn: c.turns, Cause: causeSteer, SteerIDs: ids})
	d.Actor, d.Visibility = actor, events.VisibilityTeam
	c.queueEvent(d)
	if s != nil {
		c.recordApplied(s, c.turns, agent.NextTurn)
	}
}

// TurnEnded handles the end of the turn.
func (c *Conversation) TurnEnded(o agent.Outcome) {
	if c.turn == nil {
		return
	}
	c.cancelOpen(interaction.TurnEnded, false)
	if c.turn.compacting {
		c.endTurn(o, "")
		c.next()
		return
	}
	steered := len(c.waiting) > 0 && (c.waiting[0].Mode == session.ModeInterrupt || c.s.Order.PerTurn())
	c.endTurn(o, "")
	if c.closing {
		return
	}
	switch {
	case steered || c.order.KeepOpen || o.Status == agent.Completed:
		c.next()
	case o.Status == agent.Failed:
		c.close(Verdict{doc.StatusFailed, "", errors.New(cmp.Or(c.masked(o.Error), "the turn failed"))})
	default:
		c.close(Verdict{Status: doc.StatusStopped})
	}
}

// endTurn records the end of the turn, and writes the agent's last message.
func (c *Conversation) endTurn(o agent.Outcome, reason string) {
	c.cancelTimer("interrupt")
	t := c.turn
	c.turn = nil
	if t.compacting {
		var err error
		if o.Status != agent.Completed {
			err = errors.New(cmp.Or(o.Error, o.Status))
		}
		c.recordCompacted(session.CompactProvider, err)
		return
	}
	o.Error = clip.Head(c.masked(o.Error), session.MaxError)
	c.last = TurnEnd{o, reason}
	c.queueEvent(c.draft(events.TurnEnded, session.TurnEndedPayload{
		Turn: t.number, Status: o.Status, StopReason: o.StopReason, Error: o.Error, ErrorKind: c.kindOf(o), Reason: reason,
		DurationMS: c.s.Workspace.Env.Clock.Since(t.began).Milliseconds(), ProviderTurnID: t.provider,
	}))
	c.s.Reading.EndTurn(o.Status != agent.Completed)
	if err := c.WriteLast(c.s.Reading.Answer()); err != nil && c.verdict == nil {
		c.close(Verdict{doc.StatusFailed, "", err})
	}
}

// WriteLast writes the agent's last message to the outputs.
func (c *Conversation) WriteLast(answer string) error {
	return c.s.Workspace.Replace(path.Join(c.s.OutDir, "last_message.md"), []byte(c.masked(answer)), 0o644)
}

// next continues after a turn: with the queue, or idle, or with the end of the session.
func (c *Conversation) next() {
	if c.closing || c.turn != nil || !c.opened {
		return
	}
	if c.hasUnsettledText() {
		c.startTimer("settling", interruptTimeout, func() {
			for _, s := range c.waiting {
				if s.sent {
					c.SteerRefused(s.ID, "the agent did not say what became of it")
				}
			}
		})
		return
	}
	batch := c.batch(true)
	switch {
	case len(batch) > 0 && batch[0].compacts != "":
		c.beginCompact(batch[0].compacts)
	case len(batch) > 0:
		_ = c.beginTurn(opening{cause: causeSteer, steers: batch, actor: batch[0].actor, model: batch[0].model}) // a failure has ended the session
	case c.order.KeepOpen:
		c.startIdleTimer()
	default:
		c.close(c.lastTurnVerdict())
	}
}

func (c *Conversation) closeIdle() { c.close(c.lastTurnVerdict()) }

// lastTurnVerdict returns how a session ends that has nothing more to do.
func (c *Conversation) lastTurnVerdict() Verdict {
	if c.last.Status == agent.Failed {
		return Verdict{doc.StatusFailed, "", errors.New(cmp.Or(c.last.Error, "the turn failed"))}
	}
	return Verdict{Status: doc.StatusEnded}
}
