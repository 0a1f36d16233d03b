package supervisor

// Sessions in the process that wants them: no supervisor process is started.

import (
	"context"

	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// HostedSession executes one session in this process. The process is a subreaper, and
// gives all its sessions the same GuardSet. Launch is called once, then Wait.
type HostedSession struct {
	Workspace *workspace.Workspace
	Host      Host
	// Environ is what the provider gets below the environment of its order.
	Environ []string

	done   chan struct{} // closed at the end
	record doc.Session
	err    error
}

// Launch starts the session and returns when its provider runs, it is over, or
// its record is written and some time has passed, as Launcher.Launch does. The
// session does not end with the context.
func (h *HostedSession) Launch(ctx context.Context, order session.Order) error {
	order.Version, order.Environ = session.OrderVersion, h.Environ
	phases := make(chan session.PhaseLine, 8) // a session tells three
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

// Wait waits for the end of the session and gives its record. Without a launch
// there is none.
func (h *HostedSession) Wait() (doc.Session, error) {
	if h.done == nil {
		return doc.Session{}, nil
	}
	<-h.done
	return h.record, h.err
}
