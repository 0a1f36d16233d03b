package session

// A shell in a terminal, under a guard like any provider. Nothing that it starts outlives the
// guard, and the guard does not outlive this process.

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"

	"ac/internal/guard"
	"ac/internal/proc"
)

// ConsoleExit describes how a shell exited. Signal is 0 unless a signal killed it.
type ConsoleExit struct {
	Code   int
	Signal syscall.Signal
}

// Console is a shell in a terminal. It is safe for concurrent use.
type Console struct {
	PID int

	guard  *Guard
	mark   string
	exited chan ConsoleExit // receives the only exit, or is closed without one
	gone   chan struct{}    // closed when the guard has exited
	sweep  sync.Once
}

// StartConsole starts a shell whose terminal is tty. mark must be unique to it. The caller closes
// tty, and ends the console with Sweep.
func StartConsole(executable string, guards *GuardSet, tty *os.File, path string, env []string, dir, mark string) (*Console, error) {
	g, err := StartGuard(executable, guards, tty, tty, tty)
	if err != nil {
		return nil, err
	}
	c := &Console{guard: g, mark: markName + "=" + mark, exited: make(chan ConsoleExit, 1), gone: make(chan struct{})}
	name := path[strings.LastIndexByte(path, '/')+1:]
	err = g.Order(guard.Order{Start: &guard.Start{Path: path, Argv: []string{name}, Env: append(env, c.mark), Dir: dir, Terminal: true}})
	first, ok := <-g.Reports
	if err != nil || !ok || first.Error != "" {
		_ = g.socket.Close()
		g.all.reap(g.cmd)
		return nil, errors.New(cmp.Or(first.Error, "the guard ended before the start"))
	}
	c.PID = first.PID
	go c.follow() // ends with the guard, which Sweep ends
	return c, nil
}

func (c *Console) follow() {
	defer close(c.gone)
	defer close(c.exited)
	told := false
	for r := range c.guard.Reports {
		if r.Exit != nil && !told {
			told = true
			c.exited <- ConsoleExit{r.Exit.Code, syscall.Signal(r.Exit.Signal)}
		}
	}
	_ = c.guard.socket.Close()
	c.guard.all.reap(c.guard.cmd)
}

// Exited returns a channel that receives the shell's exit, and is closed when the guard has
// exited.
func (c *Console) Exited() <-chan ConsoleExit { return c.exited }

// Hangup sends SIGHUP to the shell and its group.
func (c *Console) Hangup() { c.guard.Signal(syscall.SIGHUP) }

// Sweep kills all remaining processes, including descendants in sessions of their own, and waits
// at most three seconds for their end.
func (c *Console) Sweep() {
	c.sweep.Do(func() {
		_ = c.guard.Order(guard.Order{Sweep: true}) // a dead guard cannot receive it
		<-c.gone
		_ = proc.KillMarked(c.mark, guard.Patience) // survivors of a guard that was itself killed
	})
}
