// Package guard is a process of its own between a supervisor and a provider. It starts the
// provider on request, forwards signals to it, reports its exit, and kills all of its
// descendants at the end of the session, even when the supervisor is killed.
//
// There is one for each session, so it is kept small: it needs no package but Go's own, and of
// those only some (see takeover).
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

// Command is the word of the hidden command that runs this process.
const Command = "session:guard"

// Descriptors behind the standard three.
const (
	socketFD = 3 + iota
	stdinFD
	stdoutFD
	stderrFD
)

// Patience bounds how long killed processes may take to die.
const Patience = 3 * time.Second

// Starter starts a program as leader of its own group.
type Starter func(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error)

// Run is the main function of a guard process. It returns when nothing of the provider is
// left.
func Run() error {
	defer proc.NewRest().Close()
	return RunWith(proc.BecomeSubreaper, proc.Start)
}

// RunWith is Run with the ways in which the system keeps descendants together, which not
// every system has.
func RunWith(adopt func() error, start Starter) error {
	// Signals that reach us by mistake are taken and passed over. Ignoring them
	// would make the provider ignore them too.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE)
	runtime.LockOSThread() // the provider dies with the thread that starts it
	if err := adopt(); err != nil {
		return err
	}
	// They came to us through an exec; the provider is to have none of them. A
	// copy of the socket would hide our death, and could speak for us.
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
			// The supervisor is gone.
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
			_ = proc.SignalGroup(g.pid, syscall.Signal(order.Signal)) // gone already
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
	go func() { // ends with the provider, which sweep sees to
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
	_ = proc.SignalGroup(g.pid, syscall.SIGKILL) // gone already
	select {
	case <-g.exited:
	case <-time.After(Patience):
	}
	return proc.Sweep(g.pid, Patience)
}

// report writes a line; a supervisor that is gone reads none.
func (g *process) report(r Report) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = g.socket.Write(r.line()) // seen as the end of its orders
}
