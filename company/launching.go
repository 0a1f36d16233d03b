package company

// Launches in progress. A launch that waits in the lane no longer blocks other requests. Later
// requests for its session wait for it.

import (
	"context"
	"slices"

	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/workspace"
)

// pendingLaunch is a launch in progress.
type pendingLaunch struct {
	answered chan struct{} // closed once err is set
	err      error         // result of the launch; read it after answered is closed
}

// begin records a launch until end is called with its result.
func (cs *Host) begin(l sessionKey) (end func(error)) {
	mine := &pendingLaunch{answered: make(chan struct{})}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.launching[l] = append(cs.launching[l], mine)
	return func(err error) {
		mine.err = err
		close(mine.answered)
		cs.mu.Lock()
		defer cs.mu.Unlock()
		others := slices.DeleteFunc(slices.Clone(cs.launching[l]), func(other *pendingLaunch) bool { return other == mine })
		if cs.launching[l] = others; len(others) == 0 {
			delete(cs.launching, l)
		}
	}
}

// awaitLaunches waits for the launches in progress of a session.
func (cs *Host) awaitLaunches(ctx context.Context, p SessionParams) error {
	dir := ""
	if p.WorkspaceDir != "" {
		dir = workspace.Canonical(p.WorkspaceDir)
	}
	var pending []*pendingLaunch
	cs.mu.Lock()
	for l, launches := range cs.launching {
		if l.ref == p.SessionRef && (dir == "" || l.dir == dir) {
			pending = append(pending, launches...)
		}
	}
	cs.mu.Unlock()
	if len(pending) == 0 {
		return nil
	}
	waiting, done, err := inflight.Wait(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, l := range pending {
		select {
		case <-l.answered:
			if fault.Is(l.err, fault.ShuttingDown) {
				return l.err // at shutdown, this request fails as well
			}
		case <-waiting.Done():
			return context.Cause(waiting)
		}
	}
	return nil
}

// Admission returns the admission control of an open workspace.
func (cs *Host) Admission(w *workspace.Workspace) *runs.Admission {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, o := range cs.open {
		if o.ws == w {
			return o.admission
		}
	}
	return runs.NewAdmission(w, cs.limits) // its directory was replaced meanwhile
}
