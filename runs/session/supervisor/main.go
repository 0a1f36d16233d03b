package supervisor

// The main function of a supervisor process.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace"
)

// Main is the main function of a supervisor process. It reads the order from in and writes phases
// to out.
func Main(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error {
	return MainFor(Host{Executable: executable, Interrupt: interrupt}, in, out)
}

// MainFor is Main for a host that sets further fields.
func MainFor(host Host, in io.Reader, out io.WriteCloser) error {
	var order session.Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("the order is incomplete: %w", err)
	}
	var once sync.Once
	host.Tell = func(phase, reason, message string) {
		line, err := json.Marshal(session.PhaseLine{Phase: phase, Reason: reason, Message: message})
		if err == nil {
			_, _ = out.Write(append(line, '\n')) // our launcher may be gone
		}
		if phase != session.PhaseAccepted {
			once.Do(func() { _ = out.Close() }) // the launcher waits for no further phase
		}
	}
	if order.Version != session.OrderVersion {
		err := fault.New(fault.Unsupported, "order version %d is not %d: server and supervisor differ", order.Version, session.OrderVersion)
		host.tell(session.PhaseRefused, err)
		return err
	}
	if err := proc.BecomeSubreaper(); err != nil {
		host.tell(session.PhaseRefused, err)
		return err
	}
	w, err := workspace.Open(supervisorWorkspaceEnv(host, order), order.WorkspaceDir)
	if err != nil {
		host.tell(session.PhaseRefused, err)
		return err
	}
	_, err = Supervise(context.Background(), w, host, order)
	return errors.Join(err, w.Close())
}

// lockPatience is how long a supervisor waits for the write lock. It is far longer than a
// request's few seconds, because the end of a run must be recorded.
const lockPatience = 10 * time.Minute

// supervisorWorkspaceEnv continues the monotonic clock of the process that launched us.
func supervisorWorkspaceEnv(host Host, order session.Order) workspace.Env {
	env := workspace.EnvAt(cmp.Or(host.Clock, clock.System()).From(order.MonotonicMS))
	env.LockPatience = lockPatience
	return env
}
