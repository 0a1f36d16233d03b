package live

// Steering and interrupting: texts for an agent during a turn.

import (
	"cmp"
	"encoding/json"
	"slices"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/session/output"
	"ac/workspace"
)

// steer is a text that waits for the agent.
type steer struct {
	session.SteerEvent
	full   string // the full text
	actor  string
	model  string
	sent   bool // sent to the agent, which has not reported the outcome
	before bool // it was queued before the session began

	compacts string // set instead of a text: how to compact the conversation
}

// fresh returns how a steer that begins a turn reaches the agent.
func (s *steer) fresh() agent.How {
	switch {
	case s.before:
		return agent.Continuation
	case s.Delivery == session.DeliveryNewTurn, s.Mode == session.ModeInterrupt:
		return agent.NewTurn
	}
	return agent.NextTurn
}

// turnData is the error data of faults about turns.
type turnData struct {
	ActiveTurn *int `json:"active_turn"`
}

// checkTurn returns an error if the request is for another turn than the current one.
func (c *Conversation) checkTurn(number int) error {
	var active *int
	if c.turn != nil {
		active = &c.turn.number
	}
	if number > 0 && (active == nil || *active != number) {
		return fault.New(fault.TurnMismatch, "turn %d is not the one under way", number).With(turnData{active})
	}
	return nil
}

// checkLive returns an error if the session is ending.
func (c *Conversation) checkLive() error {
	if c.closing && !c.restart { // a restarted agent gets it afterwards
		return fault.New(fault.RunNotLive, "the session of run %s is ending", c.s.Order.RunID)
	}
	return nil
}

// steer queues or sends a text. On return, its event is durable, and a text for immediate
// delivery was sent.
func (c *Conversation) steer(p session.SteerRequest) (session.SteerResult, error) {
	if before, ok := c.sentReplies[p.ClientMessageID]; ok {
		return before.steer, nil
	}
	if err := c.checkLive(); err != nil {
		return session.SteerResult{}, err
	}
	if err := c.checkTurn(p.ExpectedTurn); err != nil {
		return session.SteerResult{}, err
	}
	if len(c.waiting) >= session.MaxSteers {
		return session.SteerResult{}, fault.New(fault.SteerQueueFull, "%d texts wait already", session.MaxSteers).With(session.LimitData{Limit: session.MaxSteers})
	}
	s := &steer{full: p.Text, actor: cmp.Or(p.Actor, "human")}
	s.ID, s.Mode, s.Display, s.ClientMessageID = c.s.Workspace.Env.IDs.New("steer"), cmp.Or(p.Mode, session.ModeNextTurn), p.Display, p.ClientMessageID
	s.Delivery = c.delivery(s.Mode)
	var err error
	if s.Text, s.TextBytes, s.Truncated, err = c.storeText(p.Text, s.ID+".txt"); err != nil {
		return session.SteerResult{}, err
	}
	result := session.SteerResult{Accepted: true, SteerID: s.ID, Turn: c.turns, Delivery: s.Delivery}
	if s.Delivery == session.DeliveryNewTurn || c.turn == nil {
		result.Turn++
	}
	s.QueueLength = len(c.waiting) + 1
	if s.Delivery == session.DeliveryNewTurn || s.Delivery == session.DeliveryMidTurn {
		s.QueueLength--
	}
	result.QueueLength, s.Turn = s.QueueLength, result.Turn
	d := c.draft(events.SteerQueued, s.SteerEvent)
	d.Actor, d.Visibility = s.actor, events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return session.SteerResult{}, fault.New(fault.IO, "the text could not be recorded: %w", err)
	}
	c.remember(p.ClientMessageID, result, session.PromptResult{Turn: result.Turn, ThreadID: c.s.Snapshot().ThreadID})
	return result, c.queue(s)
}

// busyData is the error data of run_busy.
type busyData struct {
	Turn int `json:"turn,omitempty"`
}

// prompt starts a turn of an idle session. On return, the turn is durable and was sent.
func (c *Conversation) prompt(p session.PromptRequest) (session.PromptResult, error) {
	if err := c.checkLive(); err != nil {
		return session.PromptResult{}, err
	}
	if before, ok := c.sentReplies[p.ClientMessageID]; ok {
		return before.prompt, nil
	}
	if !c.opened || c.turn != nil || c.hasUnsettledText() {
		return session.PromptResult{}, fault.New(fault.RunBusy, "run %s is in a turn", c.s.Order.RunID).With(busyData{c.turns})
	}
	if err := c.beginTurn(opening{
		cause: causePrompt, text: p.Text, model: p.Model, actor: p.Actor, client: p.ClientMessageID, Display: p.Display, steers: c.batch(false),
	}); err != nil {
		return session.PromptResult{}, fault.New(fault.IO, "the prompt could not be recorded: %w", err)
	}
	result := session.PromptResult{Turn: c.turns, ThreadID: c.s.Snapshot().ThreadID}
	c.remember(p.ClientMessageID, session.SteerResultForPrompt(result.Turn), result)
	return result, nil
}

// textReplies holds the replies to a text under a client's id, one for each verb that can send it.
type textReplies struct {
	steer  session.SteerResult
	prompt session.PromptResult
}

// remember stores the replies to a text under a client's id, "" for none. The first one wins.
func (c *Conversation) remember(client string, steer session.SteerResult, prompt session.PromptResult) {
	if _, known := c.sentReplies[client]; !known && client != "" {
		c.sentReplies[client] = textReplies{steer, prompt}
	}
}

// recall reads from the log which texts were sent under client ids. It adds the prompt that this
// session begins with.
func (c *Conversation) recall() error {
	err := session.EachEvent(c.s.Workspace, workspace.LogFile(c.s.Order.ProjectID, c.s.Order.RunID), func(kind string, line []byte) {
		if kind != events.SteerQueued && kind != events.TurnStarted {
			return
		}
		var e struct{ Payload session.SteerEvent }
		if json.Unmarshal(line, &e) != nil {
			return
		}
		result := e.Payload.Result()
		if kind == events.TurnStarted {
			result = session.SteerResultForPrompt(e.Payload.Turn)
		}
		c.remember(e.Payload.ClientMessageID, result, session.PromptResult{Turn: e.Payload.Turn})
	})
	c.remember(c.order.ClientMessageID, session.SteerResultForPrompt(c.order.Turns+1), session.PromptResult{Turn: c.order.Turns + 1})
	return err
}

// delivery returns how a text would reach the agent now.
func (c *Conversation) delivery(mode string) string {
	switch {
	case c.s.Order.PerTurn() && mode == session.ModeNextTurn:
		return session.DeliveryNextLaunch // a running command accepts no text
	case !c.opened:
		return session.DeliveryNextTurn
	case c.turn == nil && !c.hasUnsettledText() && len(c.waiting) == 0:
		return session.DeliveryNewTurn
	case mode == session.ModeAfterTurn || c.turn == nil || c.turn.compacting:
		return session.DeliveryNextTurn
	case mode == session.ModeInterrupt:
		return session.DeliveryInterrupt
	case c.talk.Capabilities.Steer && !c.turn.interrupting:
		return session.DeliveryMidTurn
	}
	return session.DeliveryNextTurn
}

// queue sends or queues a text, according to its delivery.
func (c *Conversation) queue(s *steer) error {
	if s.Delivery == session.DeliveryNextLaunch {
		c.takenTexts[s.ID] = true // it is not for this session
		return nil
	}
	if s.Delivery == session.DeliveryInterrupt {
		c.waiting = slices.Insert(c.waiting, 0, s)
		return c.interruptTurn(s.actor, s.ID)
	}
	c.waiting = append(c.waiting, s)
	switch s.Delivery {
	case session.DeliveryMidTurn:
		s.sent = true
		c.units += output.Length(s.full)
		err := c.driver.Steer(agent.Prompt{ID: s.ID, Text: s.full})
		if err == agent.ErrQueue { //nolint:errorlint // it is that value
			s.sent, err = false, nil
		}
		if err != nil {
			c.handleSendError(err)
		}
	case session.DeliveryNewTurn:
		c.next()
	}
	return nil
}

// interruptTurn asks the agent to end its turn. On return, the request is durable and was sent.
func (c *Conversation) interruptTurn(actor, steerID string) error {
	d := c.draft(events.InterruptRequested, interruptPayload{c.turn.number, steerID})
	d.Actor, d.Visibility = cmp.Or(actor, "human"), events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return fault.New(fault.IO, "the interruption could not be recorded: %w", err)
	}
	c.turn.interrupting = true
	c.cancelOpen(interaction.Interrupted, false)
	if err := c.driver.Interrupt(); err != nil {
		c.handleSendError(err)
		return nil
	}
	c.startTimer("interrupt", interruptTimeout, func() {
		if c.turn != nil {
			c.endTurn(agent.Outcome{Status: agent.Failed, Error: "the agent did not end its turn when it was asked to"}, agent.ReasonInterrupt)
			c.fail(agent.ReasonInterrupt, errInterrupt)
		}
	})
	return nil
}

// interrupt stops the current turn.
func (c *Conversation) interrupt(p session.InterruptRequest) (session.InterruptResult, error) {
	switch {
	case c.checkLive() != nil:
		return session.InterruptResult{}, c.checkLive()
	case c.turn == nil:
		return session.InterruptResult{}, fault.New(fault.NoActiveTurn, "run %s has no turn under way", c.s.Order.RunID)
	}
	if err := c.checkTurn(p.ExpectedTurn); err != nil {
		return session.InterruptResult{}, err
	}
	number := c.turn.number
	return session.InterruptResult{Interrupted: true, Turn: number}, c.interruptTurn(p.Actor, "")
}

// hasUnsettledText reports whether the agent has yet to report the outcome of a text.
func (c *Conversation) hasUnsettledText() bool {
	return slices.ContainsFunc(c.waiting, func(s *steer) bool { return s.sent })
}

// batch removes from the queue the texts that the next turn begins with: all those without a turn
// of their own. If alone is set and the first text has its own turn, batch removes only that
// text.
func (c *Conversation) batch(alone bool) (batch []*steer) {
	if len(c.waiting) > 0 && c.waiting[0].Mode == session.ModeAfterTurn && alone {
		batch = c.waiting[:1:1]
		c.waiting = c.waiting[1:]
		return batch
	}
	var rest []*steer
	for _, s := range c.waiting {
		if s.Mode == session.ModeAfterTurn {
			rest = append(rest, s)
		} else {
			batch = append(batch, s)
		}
	}
	c.waiting = rest
	return batch
}

// take removes a text from the queue. It returns nil if the text is not queued.
func (c *Conversation) take(id string) *steer {
	i := slices.IndexFunc(c.waiting, func(s *steer) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	s := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return s
}

func (c *Conversation) recordApplied(s *steer, turn int, how agent.How) {
	c.queueEvent(c.draft(events.SteerApplied, session.SteerAppliedPayload{SteerID: s.ID, Turn: turn, How: string(how)}))
}

// SteerTaken records that the agent read a text.
func (c *Conversation) SteerTaken(id string, how agent.How) {
	s := c.take(id)
	if s == nil {
		return
	}
	c.recordApplied(s, c.turns, how)
	c.next()
}

// SteerReturned requeues a text that arrived too late for its turn. It goes before all others
// except interruptions.
func (c *Conversation) SteerReturned(id string) {
	s := c.take(id)
	if s == nil {
		return
	}
	s.sent = false
	at := 0
	for at < len(c.waiting) && c.waiting[at].Mode == session.ModeInterrupt {
		at++
	}
	c.waiting = slices.Insert(c.waiting, at, s)
	c.next()
}

// SteerRefused discards a text that the agent refused.
func (c *Conversation) SteerRefused(id, why string) {
	if s := c.take(id); s != nil {
		c.queueEvent(c.draft(events.SteerDiscarded, session.SteerDiscardedPayload{SteerID: id, Reason: session.DiscardRefused, Error: clip.Head(c.masked(why), session.MaxError)}))
		c.next()
	}
}

// takeWaiting queues the texts that wait in the log for a session. It takes each text only once:
// the log may not hold its outcome yet.
func (c *Conversation) takeWaiting() error {
	list, err := session.WaitingTexts(c.s.Workspace, c.s.Order.ProjectID, c.s.Order.RunID)
	for _, text := range list {
		if !c.takenTexts[text.ID] {
			c.takenTexts[text.ID] = true
			c.remember(text.ClientMessageID, text.Result(), session.PromptResult{Turn: text.Turn})
			c.waiting = append(c.waiting, &steer{SteerEvent: text.SteerEvent, full: text.Full, actor: text.Actor, before: true})
		}
	}
	return err
}

// queueMoreTexts queues texts that were added to the log while the session was starting.
func (c *Conversation) queueMoreTexts(struct{}) (struct{}, error) {
	if err := c.checkLive(); err != nil {
		return struct{}{}, err
	}
	if err := c.takeWaiting(); err != nil {
		return struct{}{}, fault.New(fault.IO, "the texts that wait could not be read: %w", err)
	}
	c.next()
	return struct{}{}, nil
}
