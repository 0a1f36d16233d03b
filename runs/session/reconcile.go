package session

// Reconciliation of records whose owner has died.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"syscall"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	detachedNote = "detached from this runtime: another process follows it, or nobody does"
	orphanNote   = "its supervisor died before the end was recorded"
	// unrecordedNote precedes the reason why the end could not be recorded.
	unrecordedNote = "its end could not be recorded: "
	// claimTolerance is how long after its claim a process may have started, for records without
	// a process start time.
	claimTolerance = 2 * time.Second
	// orphanPatience is how long to wait for another program's runtime to write the end of its
	// run. pidPatience is how old a record without a process must be before its owner counts as
	// dead.
	orphanPatience = 300 * time.Millisecond
	pidPatience    = 10 * time.Second
)

// Current returns a session's current record. If its owner is gone, Current reconciles and
// persists the record, and may signal the provider of a session that was asked to stop. Only
// session methods and starts call it.
func Current(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	record, err := Read(w, ref)
	if err != nil || doc.Terminal(record.Status) || ownerAlive(w, record) {
		return record, err
	}
	if record.Remote() {
		return unattended(w, record), nil
	}
	claim, err := TakeClaim(w, record.ProjectID, record.RunID, ref)
	if errors.Is(err, lock.ErrBusy) {
		return record, nil // somebody follows it, or is just ending it
	}
	if err != nil {
		return record, err
	}
	record, err = Reconcile(ctx, w, ref)
	return record, errors.Join(err, claim.Release())
}

// HubNotRunningNote is the error shown for a session on another machine while no hub runs. It
// includes the remedy.
const HubNotRunningNote = "the hub is not running; start it with ac hub:start"

// HubNotRunning returns the error for requests that need a running hub. cause is how the hub's
// end was noticed, nil for none.
func HubNotRunning(cause error) error {
	if cause == nil {
		return fault.New(fault.HubNotRunning, HubNotRunningNote)
	}
	return fault.New(fault.HubNotRunning, HubNotRunningNote+" (%w)", cause)
}

// unattended returns the record of a session on another machine whose hub does not run. The
// session is not an orphan: its provider may still run, and the next hub follows it. Only a hub
// ends it, or a caller that abandons it while no hub runs.
func unattended(w *workspace.Workspace, record doc.Session) doc.Session {
	if !copyRecordedEnd(w, &record) {
		record.Error = HubNotRunningNote
	}
	return record
}

// Reconcile brings the record of a session without an owner to its end. The caller holds the
// session's locks.
func Reconcile(ctx context.Context, w *workspace.Workspace, ref string) (doc.Session, error) {
	record, err := Read(w, ref)
	if err != nil || doc.Terminal(record.Status) || foreignOwnerAlive(record) {
		return record, err
	}
	if record.Remote() {
		return unattended(w, record), nil
	}
	var left []int
	reason := orphanNote
	if record.Socket != "" {
		// Its supervisor may have died while committing the end. Recover completes that end, so
		// that no second one is recorded.
		if err := w.Recover(ctx); err != nil {
			return record, err
		}
		if record, err = Read(w, ref); err != nil {
			return record, err
		}
		if why := unrecordedReason(record); why != "" {
			reason = unrecordedNote + why
		}
		left = cleanUpAfterSupervisor(record)
		if doc.Terminal(record.Status) {
			return record, nil
		}
	}
	if done, err := adoptEnd(w, &record); done || err != nil {
		return record, err
	}
	detached := record
	detached.Error = detachedNote
	if record.Socket == "" { // a record of another program
		switch alive, known := providerAlive(record); {
		case !known && !ownerKnownDead(record, w.Env.Clock.Now()):
			return detached, nil
		case alive:
			marked := w.Exists(path.Join(workspace.ProjectDir(record.ProjectID), StopMarker(record.RunID)))
			if marked && canSignal(record, w.Env.Clock.Now()) {
				_ = identity(record).Signal(syscall.SIGKILL) // it may be gone already
			}
			return detached, nil
		}
		if err := waitForEnd(ctx, w, record); err != nil {
			return record, err
		}
		if done, err := adoptEnd(w, &record); done || err != nil {
			return record, err
		}
	}
	record.Error = reason
	if err := LeftError(left); err != nil {
		record.Error += "; " + err.Error()
	}
	return record, orphan(ctx, w, &record)
}

// adoptEnd persists the end found by copyRecordedEnd.
func adoptEnd(w *workspace.Workspace, record *doc.Session) (done bool, err error) {
	if !copyRecordedEnd(w, record) {
		return false, nil
	}
	return true, WriteRecord(w, *record)
}

// copyRecordedEnd finds the end of a session whose record was read before its owner died. It copies
// the end recorded since, or else the end in the run's record. An unreadable run has no end.
func copyRecordedEnd(w *workspace.Workspace, record *doc.Session) bool {
	if now, err := Read(w, record.Ref); err == nil && doc.Terminal(now.Status) {
		*record = now
		return true
	}
	run, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(record.ProjectID, record.RunID))
	if err != nil || !doc.Terminal(run.Status) {
		return false
	}
	record.Status = run.Status
	if at, ok := clock.Parse(run.EndedAt); ok {
		record.EndedAtMS = new(at.UnixMilli())
	}
	return true
}

// Observe returns a session's record as it should be reported now. It writes nothing and signals
// nobody.
func Observe(w *workspace.Workspace, record doc.Session) doc.Session {
	switch {
	case doc.Terminal(record.Status) || ownerAlive(w, record):
	case record.Remote():
		return unattended(w, record)
	default:
		copyRecordedEnd(w, &record)
	}
	return record
}

func waitForEnd(ctx context.Context, w *workspace.Workspace, record doc.Session) error {
	deadline := time.After(orphanPatience)
	for {
		run, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(record.ProjectID, record.RunID))
		if err == nil && doc.Terminal(run.Status) {
			return nil
		}
		select {
		case <-deadline:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func identity(record doc.Session) proc.Identity {
	if record.PID == nil {
		return proc.Identity{}
	}
	if record.PIDStart != "" {
		return proc.Identity{PID: *record.PID, Start: record.PIDStart}
	}
	id, _ := proc.Lookup(*record.PID)
	return id
}

// providerAlive reports whether the provider of another program's record is alive. known is false if
// the record names no process.
func providerAlive(record doc.Session) (alive, known bool) {
	if record.PID == nil {
		return false, false
	}
	if record.PIDStart != "" {
		return identity(record).Alive(), true
	}
	started, ok := proc.StartedAt(*record.PID)
	if !ok || record.PIDClaimedAtMS == nil {
		return false, true
	}
	return !started.After(time.UnixMilli(*record.PIDClaimedAtMS).Add(claimTolerance)), true
}

// claimLimit is the maximum age of a process claim without a start time. Older ones are never
// signaled.
const claimLimit = 30 * time.Minute

// canSignal reports whether a record's live process may be signaled.
func canSignal(record doc.Session, now time.Time) bool {
	if record.PIDStart != "" {
		return true
	}
	return record.PIDClaimedAtMS != nil && now.Sub(time.UnixMilli(*record.PIDClaimedAtMS)) <= claimLimit
}

func ownerKnownDead(record doc.Session, now time.Time) bool {
	return record.OwnerPID != nil && now.Sub(time.UnixMilli(record.StartedAtMS)) > pidPatience
}

// orphanPayload is the closing payload of a run whose supervisor died.
type orphanPayload struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	Stopped  bool    `json:"stopped"`
	Orphaned bool    `json:"orphaned"`
}

// orphan ends a run that nobody follows any more, with the reason in its record: run, log and
// record as one unit.
func orphan(ctx context.Context, w *workspace.Workspace, record *doc.Session) error {
	now := w.Env.Clock.Now()
	record.Status = doc.StatusFailed
	stopped := w.Exists(path.Join(workspace.ProjectDir(record.ProjectID), StopMarker(record.RunID)))
	if stopped {
		record.Status = doc.StatusStopped
	}
	record.EndedAtMS = new(now.UnixMilli())
	draft, err := w.Events.Draft(events.Draft{
		At: now, RunID: record.RunID, SessionRef: record.Ref, Actor: events.ActorSystem, Visibility: events.VisibilityOrg,
		Type: "run." + record.Status,
	}, orphanPayload{Stopped: stopped, Orphaned: true})
	if err != nil {
		return err
	}
	open, err := ReadOpenEnds(w, *record)
	if err != nil {
		return err
	}
	ends, err := open.Closings(w.Events, events.Draft{At: now, RunID: record.RunID, SessionRef: record.Ref, Actor: events.ActorSystem})
	if err != nil {
		return err
	}
	end := Closing{Record: record, Status: record.Status, At: now, Events: append(ends, draft)}
	if end.Usage, err = LastReported(w, workspace.LogFile(record.ProjectID, record.RunID)); err != nil {
		return err
	}
	if end.Usage != nil {
		// Its price goes into the record only. The log gets no further usage event.
		err = Price(w, end.Usage, func(string, any) error { return nil })
	}
	if err != nil {
		return err
	}
	if run, loadErr := workspace.Load(w, doc.RunCodec, workspace.RunFile(record.ProjectID, record.RunID)); loadErr == nil && run.Live != nil {
		end.Usage = SumUsage(run.Live.PriorUsage, end.Usage)
	}
	return w.Update(ctx, func(u *workspace.Unit) error { return CloseRun(u, end) })
}

// Closing describes the end of a run, for one unit.
type Closing struct {
	Record *doc.Session // never nil
	Status string
	At     time.Time
	Usage  *doc.Usage
	Cycles *doc.ContextCycles
	Events []events.Draft
	// Conversation is the agent's own conversation id, "" while unknown.
	Conversation string
	Integrity    *events.Integrity // nil unless events were removed from the log
	CountedLog
}

// CloseRun adds the end of a run to a unit. It writes the run's record with a checkpoint of the
// log before these events, the events, and the session's record. A run that is already terminal
// keeps its end, and only the session's record changes.
func CloseRun(u *workspace.Unit, c Closing) error {
	file := workspace.RunFile(c.Record.ProjectID, c.Record.RunID)
	run, err := workspace.LoadIn(u, doc.RunCodec, file)
	switch {
	case fault.Is(err, fault.NotFound):
		// The run's directory is gone: only the session remains to be ended.
	case err != nil:
		return err
	case doc.Terminal(run.Status):
		c.Record.Status = run.Status
	default:
		run.Status, run.EndedAt = c.Status, clock.Stamp(c.At)
		run.Usage, run.ContextCycles = c.Usage, c.Cycles
		run.Error, run.ErrorKind = c.Record.Error, c.Record.ErrorKind
		run.LogIntegrity = c.Integrity
		run.ProviderSessionID = cmp.Or(c.Conversation, run.ProviderSessionID)
		log := workspace.LogFile(c.Record.ProjectID, c.Record.RunID)
		if run.Log, err = c.checkpoint(u.Workspace(), log); err != nil {
			return err
		}
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		u.Append(log, c.Events...)
	}
	text, err := doc.SessionCodec.Encode(*c.Record)
	if err != nil {
		return err
	}
	return u.Write(workspace.SessionFile(c.Record.Ref), text, 0o600)
}

// StopMarker returns the path, relative to the project, of the file that signals a stop to every
// owner of a run.
func StopMarker(run string) string { return path.Join("runs", run, "outputs", "stop_requested.flag") }

// LeftError reports which processes could not be killed, nil for none.
func LeftError(left []int) error {
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("processes %v could not be killed", left)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
