// Package guard implements the process between a supervisor and a provider. It starts the
// provider on request, forwards signals to it, and reports its exit. At the end of the session
// it kills the provider and all of its descendants, even if the supervisor was killed.
//
// Every session has a guard, so it is kept small: besides package proc it depends only on a few
// packages of the standard library (see takeover).
package guard

import (
	"bufio"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"ac/internal/proc"
)

// Command is the name of the hidden command that runs this process.
const Command = "session:guard"

// Descriptors after the standard three.
const (
	socketFD = 3 + iota
	stdinFD
	stdoutFD
	stderrFD
)

// Patience bounds how long killed processes may take to die.
const Patience = 3 * time.Second

// Starter starts a program as leader of its own process group.
type Starter func(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error)

// Run is the main function of a guard process. It returns at the end of the session, after the
// sweep of the provider's processes.
func Run() error {
	defer proc.NewIdleUnmapper().Close()
	return RunWith(proc.BecomeSubreaper, proc.Start)
}

// RunWith is Run with the operating system's functions passed in: adopt makes this process the
// subreaper of its descendants, start starts the provider.
func RunWith(adopt func() error, start Starter) error {
	// Catch and discard signals that reach us by mistake. Ignoring them would make the provider
	// inherit that.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	runtime.LockOSThread() // the provider dies with the thread that starts it
	if err := adopt(); err != nil {
		return err
	}
	// These descriptors survived our exec, and the provider must not inherit them. With a copy
	// of the socket it would hide our death from the supervisor, and could write reports in our
	// name.
	for fd := socketFD; fd <= stderrFD; fd++ {
		proc.CloseOnExec(fd)
	}
	g := &process{socket: os.NewFile(socketFD, "supervisor"), launch: start, exited: make(chan struct{})}
	return g.serve()
}

type process struct {
	socket *os.File
	launch Starter
	pid    int
	exited chan struct{}

	mu sync.Mutex // guards writes to the socket
}

func (g *process) serve() error {
	lines := bufio.NewReaderSize(g.socket, 1024)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			// The supervisor has died or closed the socket.
			g.sweep()
			return nil //nolint:nilerr // which is how it ends
		}
		order, err := parseOrder(line)
		if err != nil {
			g.report(Report{Error: err.Error()})
			g.sweep()
			return err
		}
		switch {
		case order.Start != nil:
			if err := g.start(order.Start); err != nil {
				g.report(Report{Error: err.Error()})
				return nil //nolint:nilerr // reported to the supervisor
			}
		case order.Signal != 0 && g.pid > 0:
			_ = proc.SignalGroup(g.pid, syscall.Signal(order.Signal)) // may be gone already
		case order.Sweep:
			left := g.sweep()
			g.report(Report{Swept: &Swept{Left: left}})
			return nil
		}
	}
}

func (g *process) start(order *Start) error {
	var files [3]*os.File
	for i, fd := range []uintptr{stdinFD, stdoutFD, stderrFD} {
		files[i] = os.NewFile(fd, "provider")
	}
	launch := g.launch
	if order.Terminal {
		launch = proc.StartInTerminal
	}
	pid, err := launch(order.Path, order.Argv, order.Env, order.Dir, files)
	for _, f := range files {
		if closing := f.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		return err
	}
	g.pid = pid
	id, _ := proc.Lookup(pid)
	g.report(Report{PID: pid, Start: id.Start})
	go func() { // ends when the provider does, at the latest in sweep
		defer close(g.exited)
		exit, err := proc.AwaitExit(pid)
		if err != nil {
			g.report(Report{Error: err.Error()})
			return
		}
		g.report(Report{Exit: &Exit{Code: exit.Code, Signal: int(exit.Signal)}})
	}()
	return nil
}

func (g *process) sweep() (left []int) {
	if g.pid == 0 {
		return nil
	}
	_ = proc.SignalGroup(g.pid, syscall.SIGKILL) // may be gone already
	select {
	case <-g.exited:
	case <-time.After(Patience):
	}
	return proc.Sweep(g.pid, Patience)
}

// report writes a report to the supervisor. It is best effort.
func (g *process) report(r Report) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = g.socket.Write(r.line()) // if the supervisor is gone, the next read of an order fails
}
