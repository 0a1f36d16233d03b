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

// takeClaimWithRetry is session.TakeClaim with retries while the locks are busy.
func takeClaimWithRetry(ctx context.Context, w *workspace.Workspace, order session.Order) (*session.Claim, error) {
	began := time.Now()
	for {
		c, err := session.TakeClaim(w, order.ProjectID, order.RunID, order.SessionRef)
		if !errors.Is(err, lock.ErrBusy) {
			return c, err
		}
		patience := claimTimeout
		switch old, readErr := session.Read(w, order.SessionRef); {
		case readErr != nil && order.Continues():
			// The previous session is over but still holds the run's lock.
		case readErr != nil:
			patience = unknownHolderTimeout
		case !doc.Terminal(old.Status) && (old.Remote() || old.OwnerPID == nil || proc.Identity{PID: *old.OwnerPID, Start: old.OwnerStart}.Alive()):
			return nil, err // a live owner does not release it
		}
		if time.Since(began) > patience {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(unknownHolderTimeout / 20):
		}
	}
}

const (
	// claimTimeout is how long a start waits for a finished session of the same ref, or one
	// whose owner died, to release its locks.
	claimTimeout = time.Second
	// unknownHolderTimeout is how long a start waits for an unknown holder. Readers hold a lock only
	// for moments.
	unknownHolderTimeout = 100 * time.Millisecond
)
