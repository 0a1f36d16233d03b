package supervisor

// Taking the locks of a run that is to be started.

import (
	"context"
	"errors"
	"time"

	"ac/internal/lock"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// takeSoon is session.TakeClaim for a start.
func takeSoon(ctx context.Context, w *workspace.Workspace, order session.Order) (*session.Claim, error) {
	began := time.Now()
	for {
		c, err := session.TakeClaim(w, order.ProjectID, order.RunID, order.SessionRef)
		if !errors.Is(err, lock.ErrBusy) {
			return c, err
		}
		patience := claimPatience
		switch old, readErr := session.Read(w, order.SessionRef); {
		case readErr != nil && order.Continues():
			// The session before, which is over, holds the lock of the run.
		case readErr != nil:
			patience = strangerPatience
		case !doc.Terminal(old.Status) && (old.Remote() || old.OwnerPID == nil || proc.Identity{PID: *old.OwnerPID, Start: old.OwnerStart}.Alive()):
			return nil, err // it will not let go
		}
		if time.Since(began) > patience {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(strangerPatience / 20):
		}
	}
}

const (
	// claimPatience is how long a start waits for a session of the same ref that is
	// over, or whose owner died, to let go of its locks.
	claimPatience = time.Second
	// strangerPatience is how long it waits for somebody that it knows nothing of:
	// those who only look hold a lock for moments.
	strangerPatience = 100 * time.Millisecond
)
