package session

// Records whose owner is gone: what they mean, and bringing them to an end.

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
	// unrecordedNote goes before what kept the end from being recorded.
	unrecordedNote = "its end could not be recorded: "
	// claimTolerance is how much later than its claim a process may have
	// started, for records that do not hold its start.
	claimTolerance = 2 * time.Second
	// orphanPatience is how long a runtime of another program may take to write
	// the end of its run; claimless records wait for pidPatience.
	orphanPatience = 300 * time.Millisecond
	pidPatience    = 10 * time.Second
)

// Current gives a record as it is now: reconciled when its owner is gone, and
// persisted then. Only session methods and starts call it. It may signal the
// provider of a session that was asked to stop.
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
		return record, nil // somebody follows it, or ends it just now
	}
	if err != nil {
		return record, err
	}
	record, err = Reconcile(ctx, w, ref)
	return record, errors.Join(err, claim.Release())
}

// HubNotRunningNote says that no hub runs and what to do. It is the error of a session on
// another machine meanwhile.
const HubNotRunningNote = "the hub is not running; start it with ac hub:start"

// HubNotRunning refuses what only a hub can do. A cause says how its end was noticed; nil
// for none.
func HubNotRunning(cause error) error {
	if cause == nil {
		return fault.New(fault.HubNotRunning, HubNotRunningNote)
	}
	return fault.New(fault.HubNotRunning, HubNotRunningNote+" (%w)", cause)
}

// unattended is the record of a session on another machine whose hub does not run, as it
// is to be told. It is no orphan: its provider may go on over there, and the next hub
// follows it. Only a hub ends it, and who abandons it while none runs.
func unattended(w *workspace.Workspace, record doc.Session) doc.Session {
	if !toldEnd(w, &record) {
		record.Error = HubNotRunningNote
	}
	return record
}

// Reconcile runs with the locks of the session held.
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
		// Its supervisor may have died between the steps of the end: that end is
		// finished, not told as another one.
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
	if record.Socket == "" { // of another program
		switch alive, known := providerOf(record); {
		case !known && !ownerKnownDead(record, w.Env.Clock.Now()):
			return detached, nil
		case alive:
			marked := w.Exists(path.Join(workspace.ProjectDir(record.ProjectID), StopMarker(record.RunID)))
			if marked && certain(record, w.Env.Clock.Now()) {
				_ = identity(record).Signal(syscall.SIGKILL) // gone meanwhile
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

// adoptEnd takes over the end that the run's record tells, and persists it.
func adoptEnd(w *workspace.Workspace, record *doc.Session) (done bool, err error) {
	if !toldEnd(w, record) {
		return false, nil
	}
	return true, WriteRecord(w, *record)
}

// toldEnd puts the end into the record of a session that was read before its owner was gone:
// the end that was recorded since, else the one that the run's record tells. An unreadable
// run tells none.
func toldEnd(w *workspace.Workspace, record *doc.Session) bool {
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

// Observe gives a record as it is to be told now, without touching anything: it
// writes nothing and signals nobody.
func Observe(w *workspace.Workspace, record doc.Session) doc.Session {
	switch {
	case doc.Terminal(record.Status) || ownerAlive(w, record):
	case record.Remote():
		return unattended(w, record)
	default:
		toldEnd(w, &record)
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

// providerOf tells whether the provider of another program's record lives.
// known is false when the record names no process.
func providerOf(record doc.Session) (alive, known bool) {
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

// claimLimit is how old a claim on a process may be that holds no start: older
// ones are never signalled.
const claimLimit = 30 * time.Minute

// certain reports whether the live process of a record may be signalled.
func certain(record doc.Session, now time.Time) bool {
	if record.PIDStart != "" {
		return true
	}
	return record.PIDClaimedAtMS != nil && now.Sub(time.UnixMilli(*record.PIDClaimedAtMS)) <= claimLimit
}

func ownerKnownDead(record doc.Session, now time.Time) bool {
	return record.OwnerPID != nil && now.Sub(time.UnixMilli(record.StartedAtMS)) > pidPatience
}

// orphanPayload closes the log of a run whose supervisor died.
type orphanPayload struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	Stopped  bool    `json:"stopped"`
	Orphaned bool    `json:"orphaned"`
}

// orphan ends a run that nobody follows any more, for the reason that its record
// tells: run, log and record in one unit.
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
	open, err := LeftOpen(w, *record)
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
		// Its price goes into the record alone: the log is closed as it was left.
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

// Closing is the end of a run, as one unit carries it out.
type Closing struct {
	Record *doc.Session // nil when the session never began
	Status string
	At     time.Time
	Usage  *doc.Usage
	Cycles *doc.ContextCycles
	Events []events.Draft
	// Conversation is the agent's own id of it, "" while unknown.
	Conversation string
	Integrity    *events.Integrity // nil for a log that nobody took anything from
	CountedLog
}

// CloseRun asks for the end of a run: its record with the place of its log
// before these events, the events, the session's record. A run that is terminal
// already keeps its end; only the session's record follows it.
func CloseRun(u *workspace.Unit, c Closing) error {
	file := workspace.RunFile(c.Record.ProjectID, c.Record.RunID)
	run, err := workspace.LoadIn(u, doc.RunCodec, file)
	switch {
	case fault.Is(err, fault.NotFound):
		// The run's directory is gone: only the session is left to end.
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

// StopMarker is the file, relative to the project, that tells every owner of a run of a stop.
func StopMarker(run string) string { return path.Join("runs", run, "outputs", "stop_requested.flag") }

// LeftError says which processes could not be killed, nil for none.
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
