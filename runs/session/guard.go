package session

// The guard: a process of its own between a supervisor and a provider. It
// starts the provider when it is told to, relays its signals and its end, and
// sees to it that no descendant of it outlives the session, even when the
// supervisor is killed.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"ac/internal/durable"
	"ac/internal/proc"
)

// Words of the hidden commands that run these processes.
const (
	GuardCommand     = "session:guard"
	SuperviseCommand = "session:supervise"
)

// Descriptors of a guard behind the standard three.
const (
	guardSocket = 3 + iota
	guardStdin
	guardStdout
	guardStderr
)

// sweepPatience bounds how long killed processes may take to die.
const sweepPatience = 3 * time.Second

// guardOrder is a line from the supervisor: one of its fields is set.
type guardOrder struct {
	Start  *startOrder `json:"start,omitempty"`
	Signal int         `json:"signal,omitempty"`
	Sweep  bool        `json:"sweep,omitempty"`
}

// startOrder is the "go" of the supervisor.
type startOrder struct {
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Terminal: its stdin is a terminal that it is to control.
	Terminal bool `json:"terminal,omitempty"`
}

// guardReport is a line to the supervisor.
type guardReport struct {
	PID   int         `json:"pid,omitempty"`
	Start string      `json:"start,omitempty"` // identity of the provider beyond its number
	Error string      `json:"error,omitempty"`
	Exit  *guardExit  `json:"exit,omitempty"`
	Swept *guardSwept `json:"swept,omitempty"`
}

type guardExit struct {
	Code   int `json:"code"`
	Signal int `json:"signal,omitempty"`
}

type guardSwept struct {
	Left []int `json:"left"`
}

// RunGuard is the main function of a guard process. It returns when nothing of
// the provider is left.
func RunGuard() error {
	defer proc.NewRest().Close()
	return runGuard(proc.BecomeSubreaper, proc.Start)
}

// starter starts a program as leader of its own group.
type starter func(path string, argv, env []string, dir string, files [3]*os.File) (pid int, err error)

// runGuard is RunGuard with the ways in which the system keeps descendants together,
// which not every system has.
func runGuard(adopt func() error, start starter) error {
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
	for fd := guardSocket; fd <= guardStderr; fd++ {
		proc.CloseOnExec(fd)
	}
	g := &guardProcess{socket: os.NewFile(guardSocket, "supervisor"), launch: start, exited: make(chan struct{})}
	return g.serve()
}

type guardProcess struct {
	socket *os.File
	launch starter
	pid    int
	exited chan struct{}

	mu sync.Mutex // guards writes to the socket
}

func (g *guardProcess) serve() error {
	orders := json.NewDecoder(bufio.NewReader(g.socket))
	for {
		var order guardOrder
		if err := orders.Decode(&order); err != nil {
			// The supervisor is gone.
			g.sweep()
			return nil //nolint:nilerr // which is how it ends
		}
		switch {
		case order.Start != nil:
			if err := g.start(order.Start); err != nil {
				g.report(guardReport{Error: err.Error()})
				return nil //nolint:nilerr // the supervisor was told
			}
		case order.Signal != 0 && g.pid > 0:
			_ = proc.SignalGroup(g.pid, syscall.Signal(order.Signal)) // gone already
		case order.Sweep:
			left := g.sweep()
			g.report(guardReport{Swept: &guardSwept{Left: left}})
			return nil
		}
	}
}

func (g *guardProcess) start(order *startOrder) error {
	var files [3]*os.File
	for i, fd := range []uintptr{guardStdin, guardStdout, guardStderr} {
		files[i] = os.NewFile(fd, "provider")
	}
	launch := g.launch
	if order.Terminal {
		launch = proc.StartInTerminal
	}
	pid, err := launch(order.Path, order.Argv, order.Env, order.Dir, files)
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return err
	}
	g.pid = pid
	id, _ := proc.Lookup(pid)
	g.report(guardReport{PID: pid, Start: id.Start})
	go func() { // ends with the provider, which sweep sees to
		defer close(g.exited)
		exit, err := proc.AwaitExit(pid)
		if err != nil {
			g.report(guardReport{Error: err.Error()})
			return
		}
		g.report(guardReport{Exit: &guardExit{Code: exit.Code, Signal: int(exit.Signal)}})
	}()
	return nil
}

func (g *guardProcess) sweep() (left []int) {
	if g.pid == 0 {
		return nil
	}
	_ = proc.SignalGroup(g.pid, syscall.SIGKILL) // gone already
	select {
	case <-g.exited:
	case <-time.After(sweepPatience):
	}
	return proc.Sweep(g.pid, sweepPatience)
}

// report writes a line; a supervisor that is gone reads none.
func (g *guardProcess) report(r guardReport) {
	line, err := json.Marshal(r)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = durable.WriteAll(g.socket, append(line, '\n')) // seen as the end of its orders
}

// guardClient is a supervisor's hold on its guard.
type guardClient struct {
	cmd     *exec.Cmd
	socket  *os.File
	reports chan guardReport // closed when the guard is gone
	all     *GuardSet
	once    sync.Once
	left    []int // after the sweep
}

// GuardSet are the guards that one process started and did not bury yet. Who
// hosts several sessions in a process gives them the same GuardSet. It is safe for
// concurrent use.
type GuardSet struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

func (g *GuardSet) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if g.pids == nil {
		g.pids = map[int]struct{}{}
	}
	g.pids[cmd.Process.Pid] = struct{}{}
	return nil
}

// bury waits for the end of a guard.
func (g *GuardSet) bury(cmd *exec.Cmd) {
	_ = cmd.Wait() // how it ended does not matter: it is gone
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.pids, cmd.Process.Pid)
}

func (g *GuardSet) has(pid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.pids[pid]
	return ok
}

// startGuard starts a guard that has the provider's ends of the pipes. The
// provider is started by begin.
func startGuard(executable string, all *GuardSet, stdin, stdout, stderr *os.File) (*guardClient, error) {
	ours, theirs, err := proc.SocketPair()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable, GuardCommand) //nolint:noctx // it outlives even the supervisor, to sweep
	cmd.Env = append(KeeperEnv(), "GOMAXPROCS=1")
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs, stdin, stdout, stderr}
	cmd.SysProcAttr = proc.NewSession()
	err = errors.Join(all.start(cmd), theirs.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard: %w", err), ours.Close())
	}
	g := &guardClient{cmd: cmd, socket: ours, reports: make(chan guardReport, 8), all: all}
	go g.read()
	return g, nil
}

// read ends when the guard does.
func (g *guardClient) read() {
	defer close(g.reports)
	reports := json.NewDecoder(bufio.NewReader(g.socket))
	for {
		var r guardReport
		if err := reports.Decode(&r); err != nil {
			return
		}
		g.reports <- r
	}
}

func (g *guardClient) order(o guardOrder) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return durable.WriteAll(g.socket, append(line, '\n'))
}

// signal passes a signal on to the provider's group.
func (g *guardClient) signal(sig syscall.Signal) { _ = g.order(guardOrder{Signal: int(sig)}) } // a dead guard is noticed by its reports

// sweep has the guard kill whatever is left and waits for its end. Descendants
// of a guard that was killed come to us, and are killed here. It is done once.
func (g *guardClient) sweep() (left []int) {
	g.once.Do(func() {
		_ = g.order(guardOrder{Sweep: true}) // a dead guard cannot take it
		for r := range g.reports {
			if r.Swept != nil {
				g.left = r.Swept.Left
			}
		}
		g.left = append(g.left, g.release()...)
	})
	return g.left
}

// sweepDead kills what a guard leaves behind that was killed itself. Not every system
// gives us its descendants, or ends them with it: the provider is killed by its
// identity, with its group, and only what was seen to die is no longer told.
func (g *guardClient) sweepDead(provider proc.Identity) (left []int) {
	left = g.sweep()
	if provider.PID > 0 && !proc.KillGroup(provider, sweepPatience) && !slices.Contains(left, provider.PID) {
		left = append(left, provider.PID)
	}
	return left
}

// release waits for a guard whose reports have ended and mops up after it: what
// a killed guard leaves behind comes to us. Our own children share our session,
// and other guards are known, so that both are left alone.
func (g *guardClient) release() (left []int) {
	_ = g.socket.Close()
	g.all.bury(g.cmd)
	return proc.SweepAdopted(g.all.has, sweepPatience)
}

// devNull is the standard input of a provider that gets none.
func devNull() (*os.File, error) { return os.OpenFile(os.DevNull, os.O_RDONLY, 0) }

// feed writes the provider's input and closes it; a provider that does not read
// it is no error.
func feed(w io.WriteCloser, text string) {
	_, _ = io.WriteString(w, text)
	_ = w.Close()
}
