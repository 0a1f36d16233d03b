package session

// Launching: starting the supervisor process of a session.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"ac/internal/fault"
	"ac/internal/proc"
)

// answerAfter bounds how long a launch waits for the provider's process. The session continues in
// any case.
const answerAfter = 800 * time.Millisecond

// acceptTimeout bounds the wait for a session's record. Without the record, nobody can tell that
// the launch ever happened.
const acceptTimeout = 30 * time.Second

// Launcher starts supervisors and reaps those that end during its lifetime.
type Launcher struct {
	// Executable is the path of the program that has the hidden commands.
	Executable string
	// Environ is the environment that providers inherit.
	Environ []string

	wg sync.WaitGroup
}

// Launch starts the session of an order. It returns when the provider runs, when the session is
// over, or when the record is written and answerAfter has passed. A refusal is an error. What
// happens after acceptance is in the session's record only.
func (l *Launcher) Launch(ctx context.Context, order Order) error {
	order.Version = OrderVersion
	order.Environ = l.Environ
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	cmd := exec.Command(l.Executable, SuperviseCommand) //nolint:noctx // a supervisor outlives the request, and the server
	cmd.Dir = "/"
	cmd.Env = SupervisorEnv()
	start := cmd.Start
	if order.Live != nil {
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1") // it mostly waits, and should use little memory
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
	phases := make(chan PhaseLine, 8)
	l.wg.Go(func() { // ends when the supervisor closes its output
		defer close(phases)
		readPhases(out, phases)
	})
	l.wg.Go(func() { _ = cmd.Wait() }) // the session's record has the outcome
	if err := proc.SendOrder(stdin, text); err != nil {
		return fmt.Errorf("brief the supervisor: %w", err)
	}
	return AwaitPhase(ctx, phases)
}

func readPhases(out io.ReadCloser, phases chan<- PhaseLine) {
	defer out.Close()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r PhaseLine
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			phases <- r
		}
	}
}

// AwaitPhase reads a supervisor's phases until Launcher.Launch can return. A refusal is an error.
func AwaitPhase(ctx context.Context, phases <-chan PhaseLine) error {
	timer := time.NewTimer(answerAfter)
	defer timer.Stop()
	limit := time.NewTimer(acceptTimeout)
	defer limit.Stop()
	accepted, late := false, false
	for {
		select {
		case r, ok := <-phases:
			switch {
			case !ok && !accepted:
				return fault.New(fault.Internal, "the supervisor ended before it accepted the session")
			case !ok || r.Phase == PhaseRunning || r.Phase == PhaseTerminal:
				return nil
			case r.Phase == PhaseRefused:
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
			return fault.New(fault.Internal, "the supervisor has not accepted the session after %s", acceptTimeout)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
