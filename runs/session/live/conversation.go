package live

// A conversation from its beginning to its end.

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
	handshakeWithin = 60 * time.Second
	sendWithin      = 5 * time.Second
	interruptWithin = 10 * time.Second
)

// Conversation is a session's talk with its agent. Everything in it belongs to the
// goroutine that runs the inbox; others post to that. It is nil for commands.
type Conversation struct {
	s      Session
	ctx    context.Context //nolint:containedctx // of the session
	order  *session.LiveOrder
	inbox  *inbox
	driver agent.Driver
	stdin  *os.File
	root   policy.Root // of the paths that the agent names

	over  chan struct{} // closed when the agent's process is to be ended
	halt  chan struct{} // has a value when the process of a turn is to be ended
	ended chan struct{} // closed when nothing is carried out any more

	talk    agent.Conversation
	opened  bool   // the handshake is done
	closing bool   // the agent is told nothing new
	restart bool   // the agent is to be started again once its process is gone
	lost    string // why its conversation is a new one
	resumed string
	timers  map[string]*clock.Alarm

	policy  doc.RunPolicy
	turns   int   // that were begun
	turn    *turn // that is under way, nil for none
	last    TurnEnd
	waiting []*steer
	came    map[string]bool // texts that waited in the log, by their ids
	open    []*openRequest
	closed  map[string]interaction.Record // resolved lately
	said    map[string]saidBefore         // by the id that a client gave
	units   int64                         // UTF-16 code units that the agent was told
	used    usage.Report                  // by the session so far
	spent   usage.Report                  // by processes of the agent before the present one
	lead    string                        // goes before the next text, for the agent alone
	program *provider.Call                // of the turn that begins, of an agent that is a command

	verdict *Verdict // how the session ends; nil while its agent may end it
}

// Verdict is how a conversation ends its session.
type Verdict struct {
	Status string // of the session
	Reason string // why it ended before its time, "" for none
	Err    error
}

// Session is what a conversation has of the session that it is held in.
type Session struct {
	Supervisor

	Workspace *workspace.Workspace
	Order     *session.Order // its words may be settled anew for each process
	OutDir    string         // outputs, relative to the workspace
	Workdir   string
	Secrets   *redact.Values // of the provider's environment
	Recorder  *output.Recorder
	Reading   *output.Reading
	Lent      []string // entries of the environment that a model profile lends
	Lacks     []string // why the agent does not get what its workspace has
}

// Supervisor is what a conversation asks of the process that follows its agent. Its methods
// are safe for concurrent use.
type Supervisor interface {
	// Draft makes an event of the session.
	Draft(kind string, payload any) (events.Draft, error)
	// Note has something written into the run's record beside the session.
	Note(ctx context.Context, change func(*doc.Run))
	// Amend changes the session's record, durably or as a hint. Snapshot is it now.
	Amend(durable bool, change func(*doc.Session))
	Snapshot() doc.Session
	// Stop asks for the end of the session, as a failure. Stopping reports whether anybody
	// asked for it, Stopped whether a caller did.
	Stop()
	Stopping() bool
	Stopped() bool
	// Folders is a command line with folders of this machine in place of their marks.
	Folders(words []string) ([]string, error)
	// Servers are the MCP servers that the agent is told of.
	Servers() []agent.Server
}

// NewConversation begins the conversation of a session, before anything of its agent is read.
// Finish ends it.
func NewConversation(ctx context.Context, s Session) *Conversation {
	root, err := policy.NewRoot(s.Workdir, policy.ReadLink)
	c := &Conversation{
		s: s, ctx: ctx, order: s.Order.Live, inbox: newInbox(), root: root, policy: s.Order.Live.Policy, turns: s.Order.Live.Turns,
		over: make(chan struct{}), halt: make(chan struct{}, 1), ended: make(chan struct{}), timers: map[string]*clock.Alarm{}, said: map[string]saidBefore{}, closed: map[string]interaction.Record{}, came: map[string]bool{},
	}
	if err == nil {
		err = c.recall()
	}
	if err == nil {
		err = c.takeWaiting()
	}
	for _, why := range s.Lacks {
		c.Notice(why + ": the agent does not have it")
	}
	if err != nil {
		c.fail("", err)
	}
	go func() { // ends with finish
		defer close(c.ended)
		c.inbox.run()
	}()
	return c
}

// post has something carried out, unless the conversation is over.
func (c *Conversation) post(do func()) { c.inbox.post(func() { c.guarded(do) }) }

// Await is post that returns when it was carried out.
func (c *Conversation) Await(do func()) bool {
	done := make(chan struct{})
	if !c.inbox.post(func() { defer close(done); c.guarded(do) }) {
		return false
	}
	<-done
	return true
}

// Line takes a line of the agent, which belongs to the caller.
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

// guarded carries something out. A fault in it fails the session, nothing else.
func (c *Conversation) guarded(do func()) {
	defer func() {
		if r := recover(); r != nil {
			c.fail("", fmt.Errorf("internal fault: %v\n%s", r, debug.Stack()))
		}
		c.show()
	}()
	do()
}

// fail ends the session by the ladder. The first verdict stands.
func (c *Conversation) fail(reason string, err error) {
	if c.verdict == nil {
		c.verdict = &Verdict{doc.StatusFailed, reason, err}
	}
	c.closing = true
	c.s.Stop()
}

// close ends the session in good order.
func (c *Conversation) close(v Verdict) {
	if c.verdict == nil {
		c.verdict = &v
	}
	c.endProcess()
}

// endProcess has the agent's process ended: its stdin is closed, then the ladder.
func (c *Conversation) endProcess() {
	c.closing = true
	select {
	case <-c.over:
	default:
		close(c.over)
	}
}

// after has something carried out later, unless it is called off by its name. Time in
// which the machine is suspended counts.
func (c *Conversation) after(name string, d time.Duration, do func()) {
	c.callOff(name)
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

func (c *Conversation) callOff(name string) {
	if timer, ok := c.timers[name]; ok {
		timer.Stop()
		delete(c.timers, name)
	}
}

// Begin begins the handshake with an agent whose process was started.
func (c *Conversation) Begin(stdin *os.File) {
	c.post(func() {
		c.callOff("input") // of the process before
		c.stdin, c.driver = stdin, c.driverOf(c.order.Driver)
		c.after("handshake", handshakeWithin, func() {
			c.fail(agent.ReasonHandshake, fmt.Errorf("the agent did not finish its handshake within %s", handshakeWithin))
		})
		if err := c.driver.Start(c, c.start()); err != nil {
			c.stuck(err)
		}
	})
}

// Send writes a frame to the agent, as one write.
func (c *Conversation) Send(frame []byte) error {
	if err := c.stdin.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	return durable.WriteAll(c.stdin, append(frame, '\n'))
}

// stuck fails the session of an agent that takes no frame. The input of one that died is
// closed, too: its end, which is told at once, says more.
func (c *Conversation) stuck(err error) {
	fail := func() { c.fail(agent.ReasonStuck, fmt.Errorf("the agent does not read its input: %w", err)) }
	switch {
	case c.closing: // it is over already
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed):
		if c.timers["input"] == nil { // counted from the first frame that it did not take
			c.after("input", CloseAfter, func() {
				if !c.closing {
					fail()
				}
			})
		}
	default:
		fail()
	}
}

// tell queues an event, behind the lines that caused it.
func (c *Conversation) tell(d events.Draft) { c.s.Recorder.Tell(d) }

// Used takes what the session used so far.
func (c *Conversation) Used(r usage.Report) { c.s.Recorder.QueueUsage([]usage.Report{c.sum(r)}, nil) }

// Notice takes what people should know, and nothing follows from.
func (c *Conversation) Notice(text string) {
	c.tell(c.draft(events.RunNotice, noticePayload{clip.Head(c.masked(text), session.MaxError)}))
}

// Cycled takes signs that the agent compacted its context.
func (c *Conversation) Cycled(found []usage.Cycle) { c.s.Recorder.QueueUsage(nil, found) }

// Stop says the protocol's word for a stop, as the first rung of the ladder.
func (c *Conversation) Stop() {
	c.post(func() {
		c.closing = true
		c.cancelOpen(interaction.Stopped, true)
		if c.driver != nil && c.turn != nil {
			_ = c.driver.Interrupt() // the next rung does not wait for it
		}
	})
}

// OutputEnded takes the end of the agent's stdout: nothing can be said any more.
func (c *Conversation) OutputEnded() { c.post(c.endProcess) }

// GoesOn reports, once the agent's process is gone, whether another one is to be
// started in its place.
func (c *Conversation) GoesOn() (again bool) {
	c.Await(func() {
		if !c.restart || c.verdict != nil || c.s.Stopping() {
			return
		}
		again = true
		c.restart, c.closing, c.opened, c.driver, c.over = false, false, false, nil, make(chan struct{})
	})
	return again
}

// Finish ends the conversation of an agent that is gone, and tells the ends of what
// was left open. Nothing is carried out any more when it returns.
func (c *Conversation) Finish() {
	c.post(func() {
		for name := range c.timers {
			c.callOff(name)
		}
		c.closing, c.driver = true, nil
		c.leave()
	})
	c.inbox.close()
	<-c.ended
}

// leave tells the ends of what is open.
func (c *Conversation) leave() {
	reason, stopped := interaction.SessionEnded, c.s.Stopped()
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
			c.compacted(s.compacts, errors.New("the session ended"))
		default:
			c.tell(c.draft(events.SteerDiscarded, session.SteerDiscardedPayload{SteerID: s.ID, Reason: reason}))
		}
	}
	c.waiting = nil
}

// Begun is how many turns of the run were begun. It, Model and Length are for the goroutine of
// the conversation, and for anybody once it has ended.
func (c *Conversation) Begun() int { return c.turns }

// Model is what the agent named in its handshake.
func (c *Conversation) Model() string { return c.talk.Model }

// Length is how much the agent was told, in UTF-16 code units.
func (c *Conversation) Length() int64 { return c.units }

// LastTurn is how the newest turn ended, for anybody once the conversation has.
func (c *Conversation) LastTurn() TurnEnd { return c.last }

// ProcessEnds is closed when the agent's process is to be ended, as of the process that was
// begun last.
func (c *Conversation) ProcessEnds() <-chan struct{} { return c.over }

// TurnEnds has a value when the process of a turn is to be ended.
func (c *Conversation) TurnEnds() <-chan struct{} { return c.halt }

// EndsAs is how the session ends, by the end of the conversation: stopped says that it was
// stopped, exited that its process ended well.
func (c *Conversation) EndsAs(stopped, exited bool) Verdict {
	switch {
	case stopped:
		return Verdict{Status: doc.StatusStopped}
	case c.verdict != nil:
		return *c.verdict
	case c.s.Stopping(): // by a budget, a limit of time, or a log that cannot be written
		return Verdict{Status: doc.StatusFailed}
	case c.opened && exited && (c.last.Status == "" || c.last.reason == ""):
		return Verdict{Status: doc.StatusEnded}
	case c.last.Error != "":
		return Verdict{doc.StatusFailed, agent.ReasonEnded, errors.New(c.last.Error)}
	}
	return Verdict{doc.StatusFailed, agent.ReasonEnded, errors.New("the agent ended by itself")}
}

// CloseAfter is how long it may take after the end of its input.
const CloseAfter = 2 * time.Second
