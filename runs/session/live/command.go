package live

// Per-turn agents: commands that an agent's own document defines. Each turn starts a process with
// the text in its arguments or on stdin. The end of the process ends the turn. A digest describes
// earlier turns.

import (
	"cmp"
	"fmt"
	"path/filepath"
	"syscall"

	"ac/internal/guard"
	"ac/internal/signame"
	"ac/runs/agent"
	"ac/runs/provider"
)

// command is the driver of a per-turn agent.
type command struct{ c *Conversation }

func (d *command) Start(h agent.Host, _ agent.Start) error {
	h.HandshakeSucceeded(agent.Conversation{
		Name: filepath.Base(d.c.order.Template[0]), Capabilities: agent.Capabilities{Interrupt: true, Modes: []string{}},
	})
	return nil
}

// Prompt builds the command line of the turn, which the supervisor then starts.
func (d *command) Prompt(p agent.Prompt) error {
	template, err := d.c.s.Folders(d.c.order.Template)
	if err != nil {
		d.c.fail("", fmt.Errorf("the folders of the session: %w", err))
		return nil
	}
	call, err := provider.CommandCall(provider.Work{
		Model: cmp.Or(p.Model, d.c.order.Model), Prompt: p.Text, Level: string(d.c.policy.PermissionLevel), Template: template,
	})
	if err != nil {
		d.c.fail("", fmt.Errorf("the agent's command line does not take this text: %w", err))
		return nil
	}
	d.c.program = &call
	return nil
}

// Interrupt ends the process by the stop ladder.
func (d *command) Interrupt() error {
	select {
	case d.c.halt <- struct{}{}:
	default: // already requested
	}
	return nil
}

func (*command) Steer(agent.Prompt) error          { return agent.ErrQueue }
func (*command) Answer(string, agent.Answer) error { return nil }
func (*command) Mode(string) error                 { return nil }
func (*command) Compact(agent.Prompt) error        { return agent.ErrQueue }
func (*command) Compacts() bool                    { return false }
func (*command) Line([]byte)                       {}

// TakeProgram returns the command line of the next turn, nil for none.
func (c *Conversation) TakeProgram() (call *provider.Call) {
	c.Await(func() {
		if c.verdict == nil && !c.s.Stopping() {
			call, c.program = c.program, nil
		}
	})
	return call
}

// HandleTurnExit handles the end of a turn's process. It reports whether there is another turn.
func (c *Conversation) HandleTurnExit(exit *guard.Exit, err error) (again bool) {
	c.Await(func() {
		select {
		case <-c.halt: // the process ended by itself
		default:
		}
		c.opened = false // the next turn needs another process
		if c.s.Stopping() || c.verdict != nil {
			return
		}
		if c.turn != nil {
			c.TurnEnded(c.outcomeOfTurn(exit, err))
		}
		switch {
		case c.verdict != nil:
		case len(c.waiting) == 0:
			c.close(c.lastTurnVerdict())
		default:
			if err := c.prepareDigest(); err != nil {
				c.fail("", err)
			}
			again = c.verdict == nil
		}
	})
	return again
}

// outcomeOfTurn derives a turn's outcome from the end of its process.
func (c *Conversation) outcomeOfTurn(exit *guard.Exit, err error) agent.Outcome {
	o := agent.Outcome{Status: agent.Failed}
	switch {
	case c.turn.interrupting:
		o.Status = agent.Interrupted
	case err != nil:
		o.Error = err.Error()
	case exit == nil:
		o.Error = "the program did not run"
	case exit.Signal != 0:
		o.Error = "the program was ended by " + signame.Of(syscall.Signal(exit.Signal))
	case exit.Code != 0:
		o.Error = fmt.Sprintf("the program ended with exit code %d", exit.Code)
		if f := c.s.Reading.Failure(); f != nil {
			o.Error = f.Text
		} else {
			o.Error = withWords(o.Error, c.masked(c.s.Reading.ErrorTail()))
		}
	default:
		o.Status = agent.Completed
	}
	return o
}

var _ agent.Driver = (*command)(nil)
