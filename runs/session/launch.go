package session

// Launching: starting the supervisor process of a session.

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/workspace"
)

// answerAfter bounds how long a launch waits for the provider's process: the
// session goes on without us anyway.
const answerAfter = 800 * time.Millisecond

// acceptWithin bounds the wait for the record of a session: before it is there,
// a launch cannot be told from one that never was.
const acceptWithin = 30 * time.Second

// Launcher starts supervisors. It reaps those that end while it lives; Close
// waits for none of them.
type Launcher struct {
	// Executable is the program that has the hidden commands.
	Executable string
	// Environ is the environment that providers inherit.
	Environ []string

	wg sync.WaitGroup
}

// Launch starts the session of an order and returns when its provider runs, it
// is over, or its record is written and answerAfter has passed. A refusal is an
// error; what happens after
// the supervisor accepted is told by the session's record.
func (l *Launcher) Launch(ctx context.Context, order Order) error {
	order.Version = OrderVersion
	order.Environ = l.Environ
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	cmd := exec.Command(l.Executable, SuperviseCommand) //nolint:noctx // a supervisor outlives the request, and the server
	cmd.Dir = "/"
	cmd.Env = KeeperEnv()
	start := cmd.Start
	if order.Live != nil {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1") // it waits most of the time, in little memory
		start = func() error { return proc.StartLoose(cmd.Start) }
	}
	cmd.SysProcAttr = proc.NewSession()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, outChild, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout = outChild
	err = errors.Join(start(), outChild.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("start the supervisor: %w", err), out.Close())
	}
	phases := make(chan ready, 8)
	l.wg.Go(func() { // ends with the supervisor's hold on its output
		defer close(phases)
		readPhases(out, phases)
	})
	l.wg.Go(func() { _ = cmd.Wait() }) // its record tells how it went
	if err := proc.SendOrder(stdin, text); err != nil {
		return fmt.Errorf("brief the supervisor: %w", err)
	}
	return awaitPhase(ctx, phases)
}

// KeeperEnv is what the processes of a session themselves need: where its socket
// lies, and what programs built for coverage or races are told.
func KeeperEnv() []string {
	env := []string{"GOTRACEBACK=single"}
	for _, name := range []string{"XDG_RUNTIME_DIR", "TMPDIR", "GOCOVERDIR", "GORACE"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func readPhases(out io.ReadCloser, phases chan<- ready) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r ready
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			phases <- r
		}
	}
}

func awaitPhase(ctx context.Context, phases <-chan ready) error {
	timer := time.NewTimer(answerAfter)
	defer timer.Stop()
	limit := time.NewTimer(acceptWithin)
	defer limit.Stop()
	accepted, late := false, false
	for {
		select {
		case r, ok := <-phases:
			switch {
			case !ok && !accepted:
				return fault.New(fault.Internal, "the supervisor ended before it accepted the session")
			case !ok || r.Phase == phaseRunning || r.Phase == phaseTerminal:
				return nil
			case r.Phase == phaseRefused:
				return &fault.Error{Reason: fault.Reason(r.Reason), Message: r.Message}
			}
			if accepted = true; late {
				return nil
			}
		case <-timer.C:
			if late = true; accepted {
				return nil
			}
		case <-limit.C:
			return fault.New(fault.Internal, "the supervisor has not accepted the session after %s", acceptWithin)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SuperviseMain is the main function of a supervisor process: the order on in,
// phases on out.
func SuperviseMain(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error {
	return SuperviseFor(Host{Executable: executable, Interrupt: interrupt}, in, out)
}

// SuperviseFor is SuperviseMain for a host that says more of itself.
func SuperviseFor(host Host, in io.Reader, out io.WriteCloser) error {
	var order Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("the order is incomplete: %w", err)
	}
	var once sync.Once
	host.Tell = func(phase, reason, message string) {
		line, err := json.Marshal(ready{Phase: phase, Reason: reason, Message: message})
		if err == nil {
			_, _ = out.Write(append(line, '\n')) // who launched us may be gone
		}
		if phase != phaseAccepted {
			once.Do(func() { _ = out.Close() }) // nobody waits any more
		}
	}
	if order.Version != OrderVersion {
		err := fault.New(fault.Unsupported, "order version %d is not %d: server and supervisor differ", order.Version, OrderVersion)
		host.tell(phaseRefused, err)
		return err
	}
	if err := proc.BecomeSubreaper(); err != nil {
		host.tell(phaseRefused, err)
		return err
	}
	w, err := workspace.Open(supervisorWorkspaceEnv(host, order), order.WorkspaceDir)
	if err != nil {
		host.tell(phaseRefused, err)
		return err
	}
	_, err = Supervise(context.Background(), w, host, order)
	return errors.Join(err, w.Close())
}

// lockPatience is how long a supervisor waits for the write lock, which a
// request gives up after seconds: the end of a run must be recorded.
const lockPatience = 10 * time.Minute

// supervisorWorkspaceEnv continues the count of the process that launched us.
func supervisorWorkspaceEnv(host Host, order Order) workspace.Env {
	env := workspace.EnvAt(cmp.Or(host.Clock, clock.System()).From(order.MonotonicMS))
	env.LockPatience = lockPatience
	return env
}
