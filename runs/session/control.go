package session

// What others may do with a session: look, wait, stop.

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"ac/internal/proc"
	"ac/workspace"
	"ac/workspace/doc"
)

// pollEvery is how often a session is looked at whose supervisor cannot be
// asked.
const pollEvery = 50 * time.Millisecond

// Collect waits for the end of a session with a live owner and gives its
// record; the record of any other as it is now.
func Collect(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	for {
		record, err := Current(ctx, w, ref)
		if err != nil || doc.Terminal(record.Status) {
			return record, err
		}
		// A record of ours always comes to its end: an owner that is gone by now
		// has written it since, or the next look does.
		if record.Socket == "" && !ownerAlive(w, record) {
			return record, nil
		}
		if record.Socket != "" {
			if final, err := ask(ctx, record, VerbWait); err == nil && doc.Terminal(final.Status) {
				return final, nil
			}
		}
		select {
		case <-ctx.Done():
			return record, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
}

// Stop asks a session to stop and gives its record as it is then, usually still
// running. A session that is over is left as it is.
func Stop(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	record, err := Current(ctx, w, ref)
	if err != nil || doc.Terminal(record.Status) {
		return record, err
	}
	if !ownerAlive(w, record) && record.Remote() {
		return record, HubNotRunning(nil)
	}
	if !ownerAlive(w, record) && record.Socket != "" {
		return Current(ctx, w, ref) // it came to its end just now
	}
	if !ownerAlive(w, record) {
		return stopDetached(ctx, w, record)
	}
	if err := stamp(w, record.ProjectID, record.RunID); err != nil {
		return record, err
	}
	if record.Socket == "" {
		record.Error = "its owner is another program, which finds the stop marker"
		return record, nil
	}
	now, err := ask(ctx, record, VerbStop)
	if errors.Is(err, errNoSocket) {
		// The supervisor may be at its end just now.
		if record, err = Current(ctx, w, ref); err == nil && !doc.Terminal(record.Status) {
			record.Error = "its supervisor cannot be reached by its socket; it finds the stop marker"
			signalOwner(record)
		}
		return record, err
	}
	return now, err
}

// Kill kills the provider of a session at once: somebody asked for a stop and does not
// wait for its steps. The session's end is recorded by its supervisor as ever.
func Kill(ctx context.Context, w *workspace.Workspace, ref string) error {
	record, err := Current(ctx, w, ref)
	if err == nil && record.Remote() {
		_, err = Stop(ctx, w, ref) // its process is on another machine
		return err
	}
	if err != nil || doc.Terminal(record.Status) || record.PID == nil || record.PIDStart == "" {
		return err
	}
	if err := stamp(w, record.ProjectID, record.RunID); err != nil {
		return err
	}
	_ = proc.Identity{PID: *record.PID, Start: record.PIDStart}.Signal(syscall.SIGKILL) // gone meanwhile
	return nil
}

// signalOwner asks the supervisor of a record to end its session, where that is
// certainly it. Runners of jobs, and hubs, have several sessions and find the marker.
func signalOwner(record doc.Session) {
	if record.OwnerPID == nil || record.OwnerStart == "" || record.Remote() || strings.HasPrefix(record.Ref, "job_") {
		return
	}
	_ = proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Signal(syscall.SIGTERM) // gone meanwhile
}

// stopDetached stops a provider that another program's dead runtime left, when
// it is certain that it is that process.
func stopDetached(ctx context.Context, w *workspace.Workspace, record doc.Session) (doc.Session, error) {
	if record.PID == nil {
		record.Error = "detached, and no process is known: nothing was signalled"
		return record, nil
	}
	id := identity(record)
	if alive, _ := providerOf(record); !alive || !certain(record, w.Env.Clock.Now()) {
		record.Error = "detached, and it is not certain whose process it is: nothing was signalled"
		return record, nil
	}
	if err := stamp(w, record.ProjectID, record.RunID); err != nil {
		return record, err
	}
	_ = id.Signal(syscall.SIGTERM) // gone meanwhile
	for deadline := time.After(KillAfter); id.Alive(); {
		select {
		case <-deadline:
			_ = id.Signal(syscall.SIGKILL) // gone meanwhile
			record.Error = "detached; it was asked to stop and then killed"
			return record, nil
		case <-ctx.Done():
			return record, context.Cause(ctx)
		case <-time.After(pollEvery):
		}
	}
	record.Error = "detached; it was asked to stop and ended"
	return record, nil
}
