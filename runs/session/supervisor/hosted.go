package supervisor

// Sessions hosted by the launching process, without a supervisor process.

import (
	"context"

	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// HostedSession executes one session in this process. The process must be a subreaper, and must
// use one GuardSet for all its sessions. Call Launch once, then Wait.
type HostedSession struct {
	Workspace *workspace.Workspace
	Host      Host
	// Environ is the provider's base environment, which the order's environment overrides.
	Environ []string

	done   chan struct{} // closed when the session is over
	record doc.Session
	err    error
}

// Launch starts the session. It returns when the provider runs, when the session is over, or some
// time after the record is written, as Launcher.Launch does. Canceling ctx does not end the
// session.
func (h *HostedSession) Launch(ctx context.Context, order session.Order) error {
	order.Version, order.Environ = session.OrderVersion, h.Environ
	phases := make(chan session.PhaseLine, 8) // a session sends at most three
	host := h.Host
	host.Tell = func(phase, reason, message string) {
		phases <- session.PhaseLine{Phase: phase, Reason: reason, Message: message}
	}
	h.done = make(chan struct{})
	go func() { // ends with the session, which Wait waits for
		defer close(h.done)
		defer close(phases)
		h.record, h.err = Supervise(context.WithoutCancel(ctx), h.Workspace, host, order)
	}()
	return session.AwaitPhase(ctx, phases)
}

// Done is closed when the session is over. It is nil before the launch.
func (h *HostedSession) Done() <-chan struct{} { return h.done }

// Wait waits for the end of the session and returns its record. Without a launch, it returns a
// zero record at once.
func (h *HostedSession) Wait() (doc.Session, error) {
	if h.done == nil {
		return doc.Session{}, nil
	}
	<-h.done
	return h.record, h.err
}
