package supervisor

// Taking the locks of a run that is about to start.

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

// takeSoon is session.TakeClaim with retries while the locks are busy.
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
			// The previous session is over but still holds the run's lock.
		case readErr != nil:
			patience = strangerPatience
		case !doc.Terminal(old.Status) && (old.Remote() || old.OwnerPID == nil || proc.Identity{PID: *old.OwnerPID, Start: old.OwnerStart}.Alive()):
			return nil, err // a live owner does not release it
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
	// claimPatience is how long a start waits for a finished session of the same ref, or one
	// whose owner died, to release its locks.
	claimPatience = time.Second
	// strangerPatience is how long a start waits for an unknown holder. Readers hold a lock only
	// for moments.
	strangerPatience = 100 * time.Millisecond
)
