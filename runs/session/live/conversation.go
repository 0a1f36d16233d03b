package live

// A conversation from its start to its end.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/redact"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/runs/policy"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/session/output"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	handshakeTimeout = 60 * time.Second
	sendTimeout      = 5 * time.Second
	interruptTimeout = 10 * time.Second
)

// Conversation is a session's exchange with its agent. The goroutine that runs the inbox owns its
// state. Other goroutines post to the inbox.
type Conversation struct {
	s      Session
	ctx    context.Context //nolint:containedctx // of the session
	order  *session.LiveOrder
	inbox  *inbox
	driver agent.Driver
	stdin  *os.File
	root   policy.Root // for the paths that the agent names

	over  chan struct{} // closed when the agent's process should end
	halt  chan struct{} // has a value when a turn's process should end
	ended chan struct{} // closed when the inbox goroutine has ended

	talk        agent.Conversation
	opened      bool   // the handshake is done
	closing     bool   // the agent gets nothing new
	restart     bool   // restart the agent once its process has exited
	resumeError string // why the earlier conversation could not be resumed
	resumed     string
	timers      map[string]*clock.Alarm

	policy      doc.RunPolicy
	turns       int   // turns begun, over the whole run
	turn        *turn // the current turn, nil for none
	last        TurnEnd
	waiting     []*steer
	takenTexts  map[string]bool // ids of the waiting texts read from the log
	open        []*openRequest
	closed      map[string]interaction.Record // recently resolved
	sentReplies map[string]textReplies        // by the client's id
	units       int64                         // UTF-16 code units sent to the agent
	used        usage.Report                  // by the session so far
	spent       usage.Report                  // by the agent's earlier processes
	preamble    string                        // precedes the next text, for the agent only
	program     *provider.Call                // of the next turn of a per-turn agent

	verdict *Verdict // how the session ends; nil while undecided
}

// Verdict describes how a conversation ends its session.
type Verdict struct {
	Status string // of the session
	Reason string // why it ended early, "" for none
	Err    error
}

// Session holds what a conversation needs of its session.
type Session struct {
	Supervisor

	Workspace           *workspace.Workspace
	Order               *session.Order // Argv may change for each process
	OutDir              string         // relative to the workspace
	Workdir             string
	Secrets             *redact.Values // values to mask
	Recorder            *output.Recorder
	Reading             *output.Reading
	ProfileEnv          []string // environment entries that a model profile adds
	MissingServerErrors []string // notices on MCP servers that the agent does not get
}

// Supervisor is the conversation's interface to the supervisor of its agent. Its methods are safe
// for concurrent use.
type Supervisor interface {
	// Draft returns an event of the session.
	Draft(kind string, payload any) (events.Draft, error)
	// Note queues a change of the run's record.
	Note(ctx context.Context, change func(*doc.Run))
	// Amend changes the session's record, durably or as a hint. Snapshot returns a copy of it.
	Amend(durable bool, change func(*doc.Session))
	Snapshot() doc.Session
	// Stop requests the end of the session, as a failure. Stopping reports whether anybody
	// requested one, StoppedByCaller whether a caller did.
	Stop()
	Stopping() bool
	StoppedByCaller() bool
	// Folders returns a command line with this machine's folders in place of their marks.
	Folders(words []string) ([]string, error)
	// Servers returns the MCP servers that the agent is given.
	Servers() []agent.Server
}

// NewConversation starts a session's conversation. Call it before reading any of the agent's
// output. Finish ends it.
func NewConversation(ctx context.Context, s Session) *Conversation {
	root, err := policy.NewRoot(s.Workdir, policy.ReadLink)
	c := &Conversation{
		s: s, ctx: ctx, order: s.Order.Live, inbox: newInbox(), root: root, policy: s.Order.Live.Policy, turns: s.Order.Live.Turns,
		over: make(chan struct{}), halt: make(chan struct{}, 1), ended: make(chan struct{}), timers: map[string]*clock.Alarm{}, sentReplies: map[string]textReplies{}, closed: map[string]interaction.Record{}, takenTexts: map[string]bool{},
	}
	if err == nil {
		err = c.recall()
	}
	if err == nil {
		err = c.takeWaiting()
	}
	for _, why := range s.MissingServerErrors {
		c.Notice(why + ": the agent does not have it")
	}
	if err != nil {
		c.fail("", err)
	}
	go func() { // ends with Finish
		defer close(c.ended)
		c.inbox.run()
	}()
	return c
}

// post queues a function, unless the conversation is over.
func (c *Conversation) post(do func()) { c.inbox.post(func() { c.guarded(do) }) }

// Await runs a function on the conversation's goroutine and waits for it. It returns false
// without running it if the conversation is over.
func (c *Conversation) Await(do func()) bool {
	done := make(chan struct{})
	if !c.inbox.post(func() { defer close(done); c.guarded(do) }) {
		return false
	}
	<-done
	return true
}

// Line queues a line of the agent. It copies the line.
func (c *Conversation) Line(line []byte) {
	text := append([]byte(nil), line...)
	c.inbox.line(len(text), func() {
		c.guarded(func() {
			if c.driver != nil {
				c.driver.Line(text)
			}
		})
	})
}

// guarded runs a function. A panic in it fails only this session.
func (c *Conversation) guarded(do func()) {
	defer func() {
		if r := recover(); r != nil {
			c.fail("", fmt.Errorf("internal fault: %v\n%s", r, debug.Stack()))
		}
		c.updateActivity()
	}()
	do()
}

// fail ends the session as a failure, by the stop ladder. The first verdict wins.
func (c *Conversation) fail(reason string, err error) {
	if c.verdict == nil {
		c.verdict = &Verdict{doc.StatusFailed, reason, err}
	}
	c.closing = true
	c.s.Stop()
}

// close shuts the session down gracefully. The first verdict wins.
func (c *Conversation) close(v Verdict) {
	if c.verdict == nil {
		c.verdict = &v
	}
	c.endProcess()
}

// endProcess ends the agent's process: it closes stdin, then follows the stop ladder.
func (c *Conversation) endProcess() {
	c.closing = true
	select {
	case <-c.over:
	default:
		close(c.over)
	}
}

// startTimer runs a function later, unless cancelTimer cancels it by name. Time during which the machine
// is suspended counts.
func (c *Conversation) startTimer(name string, d time.Duration, do func()) {
	c.cancelTimer(name)
	var timer *clock.Alarm
	timer = clock.After(d, func() {
		c.post(func() {
			if c.timers[name] == timer {
				delete(c.timers, name)
				do()
			}
		})
	})
	c.timers[name] = timer
}

func (c *Conversation) cancelTimer(name string) {
	if timer, ok := c.timers[name]; ok {
		timer.Stop()
		delete(c.timers, name)
	}
}

// Begin starts the handshake with an agent whose process has started.
func (c *Conversation) Begin(stdin *os.File) {
	c.post(func() {
		c.cancelTimer("input") // left from the previous process
		c.stdin, c.driver = stdin, c.driverOf(c.order.Driver)
		c.startTimer("handshake", handshakeTimeout, func() {
			c.fail(agent.ReasonHandshake, fmt.Errorf("the agent did not finish its handshake within %s", handshakeTimeout))
		})
		if err := c.driver.Start(c, c.start()); err != nil {
			c.handleSendError(err)
		}
	})
}

// Send writes a frame to the agent, as one write.
func (c *Conversation) Send(frame []byte) error {
	if err := c.stdin.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	return durable.WriteAll(c.stdin, append(frame, '\n'))
}

// handleSendError fails the session of an agent that does not accept a frame. A dead agent's stdin is
// closed as well, so stuck then waits a grace period for its exit, which explains more.
func (c *Conversation) handleSendError(err error) {
	fail := func() { c.fail(agent.ReasonStuck, fmt.Errorf("the agent does not read its input: %w", err)) }
	switch {
	case c.closing: // the session is already ending
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed):
		if c.timers["input"] == nil { // counted from the first rejected frame
			c.startTimer("input", CloseGrace, func() {
				if !c.closing {
					fail()
				}
			})
		}
	default:
		fail()
	}
}

// queueEvent queues an event, after the lines that caused it.
func (c *Conversation) queueEvent(d events.Draft) { c.s.Recorder.QueueEvents(d) }

// Used records what the session has used so far.
func (c *Conversation) Used(r usage.Report) { c.s.Recorder.QueueUsage([]usage.Report{c.sum(r)}, nil) }

// Notice records an informational message for people.
func (c *Conversation) Notice(text string) {
	c.queueEvent(c.draft(events.RunNotice, noticePayload{clip.Head(c.masked(text), session.MaxError)}))
}

// Cycled records signs that the agent compacted its context.
func (c *Conversation) Cycled(found []usage.Cycle) { c.s.Recorder.QueueUsage(nil, found) }

// Stop cancels the open interactions and interrupts the turn, as the first step of the stop
// ladder.
func (c *Conversation) Stop() {
	c.post(func() {
		c.closing = true
		c.cancelOpen(interaction.Stopped, true)
		if c.driver != nil && c.turn != nil {
			_ = c.driver.Interrupt() // the next step does not wait for it
		}
	})
}

// OutputEnded handles the end of the agent's stdout: the process should end.
func (c *Conversation) OutputEnded() { c.post(c.endProcess) }

// PrepareRestart reports, once the agent's process has exited, whether to start another one in its place.
func (c *Conversation) PrepareRestart() (again bool) {
	c.Await(func() {
		if !c.restart || c.verdict != nil || c.s.Stopping() {
			return
		}
		again = true
		c.restart, c.closing, c.opened, c.driver, c.over = false, false, false, nil, make(chan struct{})
	})
	return again
}

// Finish ends the conversation of an agent that has exited, and writes closing events for what
// was left open. On return, the inbox goroutine has ended.
func (c *Conversation) Finish() {
	c.post(func() {
		for name := range c.timers {
			c.cancelTimer(name)
		}
		c.closing, c.driver = true, nil
		c.closeOpenEnds()
	})
	c.inbox.close()
	<-c.ended
}

// closeOpenEnds writes the closing events for everything open.
func (c *Conversation) closeOpenEnds() {
	reason, stopped := interaction.SessionEnded, c.s.StoppedByCaller()
	if stopped {
		reason = interaction.Stopped
	}
	c.cancelOpen(reason, false)
	if c.turn != nil {
		o := agent.Outcome{Status: agent.Failed, Error: "the agent ended before its turn was completed"}
		why := agent.ReasonEnded
		switch {
		case stopped:
			o, why = agent.Outcome{Status: agent.Interrupted}, ""
		case c.verdict != nil && c.verdict.Err != nil:
			o.Error, why = c.verdict.Err.Error(), c.verdict.Reason
		default:
			o.Error = withWords(o.Error, c.masked(c.s.Reading.ErrorTail()))
		}
		c.endTurn(o, why)
	}
	for _, s := range c.waiting {
		switch {
		case s.compacts != "":
			c.recordCompacted(s.compacts, errors.New("the session ended"))
		default:
			c.queueEvent(c.draft(events.SteerDiscarded, session.SteerDiscardedPayload{SteerID: s.ID, Reason: reason}))
		}
	}
	c.waiting = nil
}

// TurnCount returns how many turns of the run were begun. TurnCount, Model and SentLength may be
// called on the conversation's goroutine, or by anybody once it has ended.
func (c *Conversation) TurnCount() int { return c.turns }

// Model returns the model that the agent named in its handshake.
func (c *Conversation) Model() string { return c.talk.Model }

// SentLength returns how much text the agent was sent, in UTF-16 code units.
func (c *Conversation) SentLength() int64 { return c.units }

// LastTurn returns how the newest turn ended. Call it after the conversation has ended.
func (c *Conversation) LastTurn() TurnEnd { return c.last }

// ProcessEnds returns a channel that is closed when the agent's newest process should end.
func (c *Conversation) ProcessEnds() <-chan struct{} { return c.over }

// TurnEnds returns a channel that has a value when a turn's process should end.
func (c *Conversation) TurnEnds() <-chan struct{} { return c.halt }

// FinalVerdict returns how the session ends. stopped means that it was stopped, exited that its process
// exited with code 0.
func (c *Conversation) FinalVerdict(stopped, exited bool) Verdict {
	switch {
	case stopped:
		return Verdict{Status: doc.StatusStopped}
	case c.verdict != nil:
		return *c.verdict
	case c.s.Stopping(): // by a budget, a time limit, or a failing log
		return Verdict{Status: doc.StatusFailed}
	case c.opened && exited && (c.last.Status == "" || c.last.reason == ""):
		return Verdict{Status: doc.StatusEnded}
	case c.last.Error != "":
		return Verdict{doc.StatusFailed, agent.ReasonEnded, errors.New(c.last.Error)}
	}
	return Verdict{doc.StatusFailed, agent.ReasonEnded, errors.New("the agent ended by itself")}
}

// CloseGrace is the grace period after the agent's stdin is closed.
const CloseGrace = 2 * time.Second
