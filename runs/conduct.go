package runs

// Runs that an operation creates and waits for: evaluations, and filling in artifacts.

import (
	"context"
	"errors"
	"slices"

	"ac/internal/redact"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Conductor executes the runs of an operation. It is safe for concurrent use.
type Conductor struct {
	Launcher *session.Launcher
	// Launched is called with the ref of each started session. It may be nil.
	Launched func(ref string)
}

// Conduct executes a new run under a supervisor, like any other run, and returns its final
// record. It checks neither lane nor policy nor budget, because the operation itself was
// admitted. If the session cannot be started, the run has failed when Conduct returns. If ctx
// ends before the run does, the error is the cause of ctx, and the session continues on its own.
// Conduct must not be called inside a unit.
func (c Conductor) Conduct(ctx context.Context, w *workspace.Workspace, order session.Order) (doc.Session, error) {
	order.WorkspaceDir, order.MonotonicMS = w.Dir(), w.Env.Clock.MonotonicMS()
	if order.SessionRef == "" {
		order.SessionRef = session.LocalRef(order.RunID)
	}
	started := context.WithoutCancel(ctx) // a half-finished start must not be canceled
	err := context.Cause(ctx)
	if err == nil {
		err = c.Launcher.Launch(started, order)
	}
	if err != nil {
		ended := refuse(started, w, LaunchSpec{ProjectID: order.ProjectID, RunID: order.RunID, SessionRef: order.SessionRef}, "launch_preflight_failed", err)
		return failed(order, err), errors.Join(context.Cause(ctx), ended)
	}
	if c.Launched != nil {
		c.Launched(order.SessionRef)
	}
	record, err := session.Collect(ctx, w, order.SessionRef)
	w.NotifyAppend(workspace.LogFile(order.ProjectID, order.RunID)) // notify subscribers of the end as well
	return record, err
}

// failed returns the record of a session that never started.
func failed(order session.Order, err error) doc.Session {
	return doc.Session{
		Ref: order.SessionRef, ProjectID: order.ProjectID, RunID: order.RunID, Status: doc.StatusFailed, Error: err.Error(),
	}
}

// MaskedArgv returns a command line that may be recorded: the secrets of its environment are
// masked.
func (c Conductor) MaskedArgv(argv []string, env map[string]string) []string {
	environ := slices.Clone(c.Launcher.Environ)
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	secrets := redact.FromEnviron(environ)
	shown := make([]string, len(argv))
	for i, word := range argv {
		shown[i] = secrets.String(word)
	}
	return shown
}
