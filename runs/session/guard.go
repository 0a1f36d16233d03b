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

// Words of the hidden commands that run these processes.
const (
	GuardCommand     = guard.Command
	SuperviseCommand = "session:supervise"
)

// RunGuard is the main function of a guard process in programs that do not have it taken over
// earlier.
func RunGuard() error { return guard.Run() }

// Guard is a supervisor's hold on its guard.
type Guard struct {
	cmd     *exec.Cmd
	socket  *os.File
	Reports chan guard.Report // closed when the guard is gone
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
	if err := proc.StartPunctual(cmd.Start); err != nil { // the provider inherits it
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

// StartGuard starts a guard that has the provider's ends of the pipes. The
// provider is started by begin.
func StartGuard(executable string, all *GuardSet, stdin, stdout, stderr *os.File) (*Guard, error) {
	ours, theirs, err := pipe.SocketPair()
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
	g := &Guard{cmd: cmd, socket: ours, Reports: make(chan guard.Report, 8), all: all}
	go g.read()
	return g, nil
}

// read ends when the guard does.
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

// Order sends an order to the guard. One that does not arrive is answered by the end of the
// reports.
func (g *Guard) Order(o guard.Order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return durable.WriteAll(g.socket, append(line, '\n'))
}

// Signal passes a signal on to the provider's group.
func (g *Guard) Signal(sig syscall.Signal) { _ = g.Order(guard.Order{Signal: int(sig)}) } // a dead guard is noticed by its reports

// Sweep has the guard kill whatever is left and waits for its end. Descendants
// of a guard that was killed come to us, and are killed here. It is done once.
func (g *Guard) Sweep() (left []int) {
	g.once.Do(func() {
		_ = g.Order(guard.Order{Sweep: true}) // a dead guard cannot take it
		for r := range g.Reports {
			if r.Swept != nil {
				g.left = r.Swept.Left
			}
		}
		g.left = append(g.left, g.release()...)
	})
	return g.left
}

// SweepDead kills what a guard leaves behind that was killed itself. Not every system
// gives us its descendants, or ends them with it: the provider is killed by its
// identity, with its group, and only what was seen to die is no longer told.
func (g *Guard) SweepDead(provider proc.Identity) (left []int) {
	left = g.Sweep()
	if provider.PID > 0 && !proc.KillGroup(provider, guard.Patience) && !slices.Contains(left, provider.PID) {
		left = append(left, provider.PID)
	}
	return left
}

// release waits for a guard whose reports have ended and mops up after it: what
// a killed guard leaves behind comes to us. Our own children share our session,
// and other guards are known, so that both are left alone.
func (g *Guard) release() (left []int) {
	_ = g.socket.Close()
	g.all.bury(g.cmd)
	return proc.SweepAdopted(g.all.has, guard.Patience)
}

// KillAfter is how long a provider may take to end after SIGTERM.
const KillAfter = 1500 * time.Millisecond
