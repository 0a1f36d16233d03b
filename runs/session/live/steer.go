package live

// Steering and interrupting: texts for an agent that is in a turn.

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
	full   string // the text as a whole
	actor  string
	model  string
	sent   bool // to the agent, which did not say yet what became of it
	before bool // it waited before the session began

	compacts string // no text, but how the conversation is to be compacted
}

// fresh is how a steer that begins a turn reaches the agent.
func (s *steer) fresh() agent.How {
	switch {
	case s.before:
		return agent.Continuation
	case s.Delivery == session.DeliveryNewTurn, s.Mode == session.ModeInterrupt:
		return agent.NewTurn
	}
	return agent.NextTurn
}

// turnData stands beside the reasons that speak of turns.
type turnData struct {
	ActiveTurn *int `json:"active_turn"`
}

// expect refuses a wish for another turn than the one that is under way.
func (c *Conversation) expect(number int) error {
	var active *int
	if c.turn != nil {
		active = &c.turn.number
	}
	if number > 0 && (active == nil || *active != number) {
		return fault.New(fault.TurnMismatch, "turn %d is not the one under way", number).With(turnData{active})
	}
	return nil
}

// notLive refuses what only a live session does.
func (c *Conversation) notLive() error {
	if c.closing && !c.restart { // an agent that is started again hears of it then
		return fault.New(fault.RunNotLive, "the session of run %s is ending", c.s.Order.RunID)
	}
	return nil
}

// steer takes a text: its event is durable, and where the agent takes it now it was
// said, when steer returns.
func (c *Conversation) steer(p session.SteerRequest) (session.SteerResult, error) {
	if before, ok := c.said[p.ClientMessageID]; ok {
		return before.steer, nil
	}
	if err := c.notLive(); err != nil {
		return session.SteerResult{}, err
	}
	if err := c.expect(p.ExpectedTurn); err != nil {
		return session.SteerResult{}, err
	}
	if len(c.waiting) >= session.MaxSteers {
		return session.SteerResult{}, fault.New(fault.SteerQueueFull, "%d texts wait already", session.MaxSteers).With(session.LimitData{Limit: session.MaxSteers})
	}
	s := &steer{full: p.Text, actor: cmp.Or(p.Actor, "human")}
	s.ID, s.Mode, s.Display, s.ClientMessageID = c.s.Workspace.Env.IDs.New("steer"), cmp.Or(p.Mode, session.ModeNextTurn), p.Display, p.ClientMessageID
	s.Delivery = c.delivery(s.Mode)
	var err error
	if s.Text, s.TextBytes, s.Truncated, err = c.written(p.Text, s.ID+".txt"); err != nil {
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

// busyData stands beside run_busy.
type busyData struct {
	Turn int `json:"turn,omitempty"`
}

// prompt begins a turn of an idle session. It is durable, and was said, when it returns.
func (c *Conversation) prompt(p session.PromptRequest) (session.PromptResult, error) {
	if err := c.notLive(); err != nil {
		return session.PromptResult{}, err
	}
	if before, ok := c.said[p.ClientMessageID]; ok {
		return before.prompt, nil
	}
	if !c.opened || c.turn != nil || c.unsettled() {
		return session.PromptResult{}, fault.New(fault.RunBusy, "run %s is in a turn", c.s.Order.RunID).With(busyData{c.turns})
	}
	if err := c.beginTurn(opening{
		cause: causePrompt, text: p.Text, model: p.Model, actor: p.Actor, client: p.ClientMessageID, Display: p.Display, steers: c.batch(false),
	}); err != nil {
		return session.PromptResult{}, fault.New(fault.IO, "the prompt could not be recorded: %w", err)
	}
	result := session.PromptResult{Turn: c.turns, ThreadID: c.s.Snapshot().ThreadID}
	c.remember(p.ClientMessageID, session.SaidAsPrompt(result.Turn), result)
	return result, nil
}

// saidBefore is what became of something that was said, as each of the ways to say it is
// answered: an id of a client is that of one thing.
type saidBefore struct {
	steer  session.SteerResult
	prompt session.PromptResult
}

// remember keeps what became of what a client said under an id, "" for none. The first
// stands.
func (c *Conversation) remember(client string, steer session.SteerResult, prompt session.PromptResult) {
	if _, known := c.said[client]; !known && client != "" {
		c.said[client] = saidBefore{steer, prompt}
	}
}

// recall reads what was said to the run under ids of clients, by the prompt that this
// session begins with too.
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
			result = session.SaidAsPrompt(e.Payload.Turn)
		}
		c.remember(e.Payload.ClientMessageID, result, session.PromptResult{Turn: e.Payload.Turn})
	})
	c.remember(c.order.ClientMessageID, session.SaidAsPrompt(c.order.Turns+1), session.PromptResult{Turn: c.order.Turns + 1})
	return err
}

// delivery is how a text reaches the agent as things are now.
func (c *Conversation) delivery(mode string) string {
	switch {
	case c.s.Order.PerTurn() && mode == session.ModeNextTurn:
		return session.DeliveryNextLaunch // nothing is said to a command while it runs
	case !c.opened:
		return session.DeliveryNextTurn
	case c.turn == nil && !c.unsettled() && len(c.waiting) == 0:
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

// queue puts a text where its delivery says.
func (c *Conversation) queue(s *steer) error {
	if s.Delivery == session.DeliveryNextLaunch {
		c.came[s.ID] = true // it is not for this session
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
			c.stuck(err)
		}
	case session.DeliveryNewTurn:
		c.next()
	}
	return nil
}

// interruptTurn asks the agent to end its turn. It is durable, and was said, when it
// returns.
func (c *Conversation) interruptTurn(actor, steerID string) error {
	d := c.draft(events.InterruptRequested, interruptPayload{c.turn.number, steerID})
	d.Actor, d.Visibility = cmp.Or(actor, "human"), events.VisibilityTeam
	if err := c.s.Recorder.Commit(d); err != nil {
		return fault.New(fault.IO, "the interruption could not be recorded: %w", err)
	}
	c.turn.interrupting = true
	c.cancelOpen(interaction.Interrupted, false)
	if err := c.driver.Interrupt(); err != nil {
		c.stuck(err)
		return nil
	}
	c.after("interrupt", interruptWithin, func() {
		if c.turn != nil {
			c.endTurn(agent.Outcome{Status: agent.Failed, Error: "the agent did not end its turn when it was asked to"}, agent.ReasonInterrupt)
			c.fail(agent.ReasonInterrupt, errInterrupt)
		}
	})
	return nil
}

// interrupt stops the turn that is under way.
func (c *Conversation) interrupt(p session.InterruptRequest) (session.InterruptResult, error) {
	switch {
	case c.notLive() != nil:
		return session.InterruptResult{}, c.notLive()
	case c.turn == nil:
		return session.InterruptResult{}, fault.New(fault.NoActiveTurn, "run %s has no turn under way", c.s.Order.RunID)
	}
	if err := c.expect(p.ExpectedTurn); err != nil {
		return session.InterruptResult{}, err
	}
	number := c.turn.number
	return session.InterruptResult{Interrupted: true, Turn: number}, c.interruptTurn(p.Actor, "")
}

// unsettled reports whether a text was said of which the agent did not say yet what
// became of it.
func (c *Conversation) unsettled() bool {
	return slices.ContainsFunc(c.waiting, func(s *steer) bool { return s.sent })
}

// batch takes what the next turn begins with: an interruption and the texts that
// wait with it, or one text that has a turn of its own. Such a one only when alone
// says so.
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

// take takes one text out of what waits, nil where it does not.
func (c *Conversation) take(id string) *steer {
	i := slices.IndexFunc(c.waiting, func(s *steer) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	s := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return s
}

func (c *Conversation) applied(s *steer, turn int, how agent.How) {
	c.tell(c.draft(events.SteerApplied, session.SteerAppliedPayload{SteerID: s.ID, Turn: turn, How: string(how)}))
}

// SteerTaken takes that the agent read a text.
func (c *Conversation) SteerTaken(id string, how agent.How) {
	s := c.take(id)
	if s == nil {
		return
	}
	c.applied(s, c.turns, how)
	c.next()
}

// SteerReturned takes a text back that came too late for its turn: it goes before all
// others.
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

// SteerRefused takes that the agent does not want a text.
func (c *Conversation) SteerRefused(id, why string) {
	if s := c.take(id); s != nil {
		c.tell(c.draft(events.SteerDiscarded, session.SteerDiscardedPayload{SteerID: id, Reason: session.DiscardRefused, Error: clip.Head(c.masked(why), session.MaxError)}))
		c.next()
	}
}

// takeWaiting takes the texts of the log that wait for a session. One is taken once:
// what became of it may not stand in the log yet.
func (c *Conversation) takeWaiting() error {
	list, err := session.WaitingTexts(c.s.Workspace, c.s.Order.ProjectID, c.s.Order.RunID)
	for _, text := range list {
		if !c.came[text.ID] {
			c.came[text.ID] = true
			c.remember(text.ClientMessageID, text.Result(), session.PromptResult{Turn: text.Turn})
			c.waiting = append(c.waiting, &steer{SteerEvent: text.SteerEvent, full: text.Full, actor: text.Actor, before: true})
		}
	}
	return err
}

// more takes texts that came into the log while the session was being started.
func (c *Conversation) more(struct{}) (struct{}, error) {
	if err := c.notLive(); err != nil {
		return struct{}{}, err
	}
	if err := c.takeWaiting(); err != nil {
		return struct{}{}, fault.New(fault.IO, "the texts that wait could not be read: %w", err)
	}
	c.next()
	return struct{}{}, nil
}
