package session

import (
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
	"ac/workspace"
)

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
	w, err := workspace.Open(supervisorWorkspaceEnv(order), order.WorkspaceDir)
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
func supervisorWorkspaceEnv(order Order) workspace.Env {
	env := workspace.SystemEnv()
	env.Clock = clock.New(time.Now, order.MonotonicMS)
	env.LockPatience = lockPatience
	return env
}
