package session

// What other processes may do with a session: read, wait, stop.

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

// pollEvery is the polling interval for a session whose supervisor is unreachable.
const pollEvery = 50 * time.Millisecond

// Collect waits for the end of a session with a live owner and returns its final record. It
// returns any other session's current record at once.
func Collect(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	for {
		record, err := Current(ctx, w, ref)
		if err != nil || doc.Terminal(record.Status) {
			return record, err
		}
		// A record of ours always becomes final: an owner that has exited since wrote the end, or
		// the next read reconciles it.
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

// Stop requests a stop and returns the record after the request, usually still running. It is a
// no-op for a session that is over.
func Stop(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	record, err := Current(ctx, w, ref)
	if err != nil || doc.Terminal(record.Status) {
		return record, err
	}
	if !ownerAlive(w, record) && record.Remote() {
		return record, HubNotRunning(nil)
	}
	if !ownerAlive(w, record) && record.Socket != "" {
		return Current(ctx, w, ref) // it ended just now
	}
	if !ownerAlive(w, record) {
		return stopDetached(ctx, w, record)
	}
	if err := writeStopMarker(w, record.ProjectID, record.RunID); err != nil {
		return record, err
	}
	if record.Socket == "" {
		record.Error = "its owner is another program, which finds the stop marker"
		return record, nil
	}
	now, err := ask(ctx, record, VerbStop)
	if errors.Is(err, errNoSocket) {
		// The supervisor may be exiting.
		if record, err = Current(ctx, w, ref); err == nil && !doc.Terminal(record.Status) {
			record.Error = "its supervisor cannot be reached by its socket; it finds the stop marker"
			signalOwner(record)
		}
		return record, err
	}
	return now, err
}

// Kill kills a session's provider at once, skipping the stop ladder. The supervisor records the
// session's end as usual. For a session on another machine, Kill is Stop.
func Kill(ctx context.Context, w *workspace.Workspace, ref string) error {
	record, err := Current(ctx, w, ref)
	if err == nil && record.Remote() {
		_, err = Stop(ctx, w, ref) // its process is on another machine
		return err
	}
	if err != nil || doc.Terminal(record.Status) || record.PID == nil || record.PIDStart == "" {
		return err
	}
	if err := writeStopMarker(w, record.ProjectID, record.RunID); err != nil {
		return err
	}
	_ = proc.Identity{PID: *record.PID, Start: record.PIDStart}.Signal(syscall.SIGKILL) // it may be gone already
	return nil
}

// signalOwner sends SIGTERM to a record's supervisor, if the process is certainly that one. Job
// runners and hubs host several sessions: they are not signaled and find the marker instead.
func signalOwner(record doc.Session) {
	if record.OwnerPID == nil || record.OwnerStart == "" || record.Remote() || strings.HasPrefix(record.Ref, "job_") {
		return
	}
	_ = proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Signal(syscall.SIGTERM) // it may be gone already
}

// stopDetached stops a provider left over from another program's dead runtime, if the process is
// certainly that one.
func stopDetached(ctx context.Context, w *workspace.Workspace, record doc.Session) (doc.Session, error) {
	if record.PID == nil {
		record.Error = "detached, and no process is known: nothing was signalled"
		return record, nil
	}
	id := identity(record)
	if alive, _ := providerAlive(record); !alive || !canSignal(record, w.Env.Clock.Now()) {
		record.Error = "detached, and it is not certain whose process it is: nothing was signalled"
		return record, nil
	}
	if err := writeStopMarker(w, record.ProjectID, record.RunID); err != nil {
		return record, err
	}
	_ = id.Signal(syscall.SIGTERM) // it may be gone already
	for deadline := time.After(KillAfter); id.Alive(); {
		select {
		case <-deadline:
			_ = id.Signal(syscall.SIGKILL) // it may be gone already
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
