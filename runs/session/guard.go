package session

// The supervisor's side of its guard.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"ac/internal/durable"
	"ac/internal/guard"
	"ac/internal/pipe"
	"ac/internal/proc"
)

// Names of the hidden commands that run these processes.
const (
	GuardCommand     = guard.Command
	SuperviseCommand = "session:supervise"
)

// RunGuard is the main function of a guard process, for programs that do not enter it earlier.
func RunGuard() error { return guard.Run() }

// Guard controls a supervisor's guard process.
type Guard struct {
	cmd     *exec.Cmd
	socket  *os.File
	Reports chan guard.Report // closed when the guard is gone
	all     *GuardSet
	once    sync.Once
	left    []int // processes that survived the sweep
}

// GuardSet is the set of guards that one process started and has not reaped yet. A process that
// hosts several sessions must share one GuardSet between them. It is safe for concurrent use.
type GuardSet struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

func (g *GuardSet) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := proc.StartPunctual(cmd.Start); err != nil { // the provider inherits its scheduling
		return err
	}
	if g.pids == nil {
		g.pids = map[int]struct{}{}
	}
	g.pids[cmd.Process.Pid] = struct{}{}
	return nil
}

// reap reaps a guard and removes it from the set.
func (g *GuardSet) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // its exit status does not matter
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

// StartGuard starts a guard with the child's ends of the provider's pipes. The provider itself
// starts on a later order.
func StartGuard(executable string, all *GuardSet, stdin, stdout, stderr *os.File) (*Guard, error) {
	ours, theirs, err := pipe.SocketPair()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(executable, GuardCommand) //nolint:noctx // it outlives even the supervisor, to sweep
	cmd.Env = append(SupervisorEnv(), "GOMAXPROCS=1")
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{theirs, stdin, stdout, stderr}
	cmd.SysProcAttr = proc.NewSession()
	err = errors.Join(all.start(cmd), theirs.Close())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard: %w", err), ours.Close())
	}
	g := &Guard{cmd: cmd, socket: ours, Reports: make(chan guard.Report, 8), all: all}
	go g.read()
	return g, nil
}

// read decodes reports until the guard exits.
func (g *Guard) read() {
	defer close(g.Reports)
	reports := json.NewDecoder(bufio.NewReader(g.socket))
	for {
		var r guard.Report
		if err := reports.Decode(&r); err != nil {
			return
		}
		g.Reports <- r
	}
}

// Order sends an order to the guard. If it does not arrive, Reports is closed.
func (g *Guard) Order(o guard.Order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return durable.WriteAll(g.socket, append(line, '\n'))
}

// Signal forwards a signal to the provider's group.
func (g *Guard) Signal(sig syscall.Signal) { _ = g.Order(guard.Order{Signal: int(sig)}) } // a dead guard closes Reports

// Sweep has the guard kill all remaining processes and waits for the guard to exit. Descendants
// of a killed guard are reparented to us and killed here. Only the first call sweeps; later calls
// return the same result.
func (g *Guard) Sweep() (left []int) {
	g.once.Do(func() {
		_ = g.Order(guard.Order{Sweep: true}) // a dead guard cannot receive it
		for r := range g.Reports {
			if r.Swept != nil {
				g.left = r.Swept.Left
			}
		}
		g.left = append(g.left, g.release()...)
	})
	return g.left
}

// SweepDead kills what a killed guard left behind. Not every system reparents the guard's
// descendants to us, or ends them with it. It therefore also kills the provider by its identity,
// with its group, and reports it as left unless it was seen to die.
func (g *Guard) SweepDead(provider proc.Identity) (left []int) {
	left = g.Sweep()
	if provider.PID > 0 && !proc.KillGroup(provider, guard.Patience) && !slices.Contains(left, provider.PID) {
		left = append(left, provider.PID)
	}
	return left
}

// release reaps a guard whose reports have ended, and kills the descendants that a killed guard
// left to us. It spares our own children, which share our session, and the other guards of the
// set.
func (g *Guard) release() (left []int) {
	_ = g.socket.Close()
	g.all.reap(g.cmd)
	return proc.SweepAdopted(g.all.has, guard.Patience)
}

// KillAfter is the grace period between SIGTERM and SIGKILL.
const KillAfter = 1500 * time.Millisecond
