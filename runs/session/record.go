package session

// The record of a session, and the locks that prove its owner.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
	"ac/workspace/doc"
)

// LocalRef returns the default session_ref of a run.
func LocalRef(runID string) string { return "local_" + runID }

// maxEncodedRef bounds the file name of a record.
const maxEncodedRef = 200

// CheckRef returns why a text cannot be a session_ref, "" if it can.
func CheckRef(ref string) string {
	switch {
	case ref == "":
		return "must not be empty"
	case strings.ContainsRune(ref, 0) || strings.ContainsRune(ref, 0xFFFD):
		return "must not contain NUL or invalid characters"
	case len(workspace.EncodeRef(ref)) > maxEncodedRef:
		return "is too long for a file name"
	}
	return ""
}

// Read reads the record of a session as stored, without reconciling it.
func Read(w *workspace.Workspace, ref string) (doc.Session, error) {
	record, err := workspace.Load(w, doc.SessionCodec, workspace.SessionFile(ref))
	if fault.Is(err, fault.NotFound) {
		return record, fault.New(fault.NotFound, "session %s does not exist", ref)
	}
	if err != nil {
		return record, err
	}
	return record, workspace.CheckID(workspace.SessionFile(ref), ref, record.Ref)
}

// All reads the records of a workspace, newest first. It skips files that are not records.
func All(w *workspace.Workspace) ([]doc.Session, error) { return NamedAfter(w, "") }

// NamedAfter is All for the sessions whose ref contains the id of a run, as default refs do. It
// reads no other file.
func NamedAfter(w *workspace.Workspace, runID string) ([]doc.Session, error) {
	names, err := workspace.Files(w.FS, workspace.SessionsDir, ".yaml")
	if err != nil {
		return nil, err
	}
	records, held := []doc.Session{}, workspace.EncodeRef(runID)
	for _, name := range names {
		if !strings.Contains(name, held) { // refs are encoded byte by byte
			continue
		}
		ref, ok := workspace.DecodeRef(strings.TrimSuffix(name, ".yaml"))
		if !ok {
			continue
		}
		if record, err := Read(w, ref); err == nil {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, func(a, b doc.Session) int {
		return cmp.Or(cmp.Compare(b.StartedAtMS, a.StartedAtMS), cmp.Compare(a.Ref, b.Ref))
	})
	return records, nil
}

// WriteRecord writes the record of a session. It is durable on return. Only the holder of the
// session's claim may call it.
func WriteRecord(w *workspace.Workspace, record doc.Session) error {
	text, err := doc.SessionCodec.Encode(record)
	if err != nil {
		return err
	}
	return w.Replace(workspace.SessionFile(record.Ref), text, 0o600)
}

// The kernel locks of a session are stored beside the other locks. Their names are digests, since
// ids may be as long as a file name.

func runLock(project, run string) string {
	return workspace.LockFile("run-" + digest(project+"\x00"+run))
}

// refLockPrefix begins the lock names of session_refs.
const refLockPrefix = "session-"

func refLock(ref string) string {
	return workspace.LockFile(refLockPrefix + digest(ref))
}

// Claim holds the locks of a run and a session_ref.
type Claim struct{ run, ref *lock.Hold }

// TakeClaim takes both locks, or fails with lock.ErrBusy.
func TakeClaim(w *workspace.Workspace, project, run, ref string) (*Claim, error) {
	r, err := lock.Try(w.FS, runLock(project, run))
	if err != nil {
		return nil, err
	}
	s, err := lock.Try(w.FS, refLock(ref))
	if err != nil {
		return nil, errors.Join(err, r.Release())
	}
	return &Claim{run: r, ref: s}, nil
}

// Release releases both locks and removes their files.
func (c *Claim) Release() error {
	return errors.Join(c.ref.RemoveAndRelease(), c.run.RemoveAndRelease())
}

// RunAlive reports whether a session of a run has a live owner, or runs on another machine while
// its hub is down.
func RunAlive(w *workspace.Workspace, project, run string) bool {
	busy, err := lock.Busy(w.FS, runLock(project, run))
	return busy || (err != nil && !errors.Is(err, fs.ErrNotExist)) || unattendedRun(w, project, run)
}

// unattendedRun reports whether a session of a run, whose lock is free, is on another machine. A
// workspace without a hub folder has none.
func unattendedRun(w *workspace.Workspace, project, run string) bool {
	if !w.Exists(workspace.HubDir) {
		return false
	}
	for _, named := range []string{run, ""} { // default refs contain the run's id
		records, err := NamedAfter(w, named)
		if err != nil {
			return true
		}
		if slices.ContainsFunc(records, func(r doc.Session) bool {
			return r.ProjectID == project && r.RunID == run && r.Remote() && !doc.Terminal(r.Status)
		}) {
			return true
		}
	}
	return false
}

// Reserve takes the run's lock, so that no session of the run starts until it is released. It
// waits for a live session to end, until ctx ends.
func Reserve(ctx context.Context, w *workspace.Workspace, project, run string) (*lock.Hold, error) {
	return lock.Wait(ctx, w.FS, runLock(project, run))
}

// RefAlive reports whether a session of this ref has a live owner.
func RefAlive(w *workspace.Workspace, ref string) bool {
	busy, err := lock.Busy(w.FS, refLock(ref))
	return busy || (err != nil && !errors.Is(err, fs.ErrNotExist))
}

// Living counts the sessions of a workspace that have a live owner, by their locks alone.
func Living(w *workspace.Workspace) (n int, err error) {
	held, err := heldRefs(w)
	return len(held), err
}

// LivingRecords returns the records of the sessions that have a live owner. It reads no others.
func LivingRecords(w *workspace.Workspace) (records []doc.Session, err error) {
	held, err := heldRefs(w)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	names, err := workspace.Files(w.FS, workspace.SessionsDir, ".yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		ref, ok := workspace.DecodeRef(strings.TrimSuffix(name, ".yaml"))
		if !ok || !held[refLock(ref)] {
			continue
		}
		if record, err := Read(w, ref); err == nil { // skip files that are not records
			records = append(records, record)
		}
	}
	return records, nil
}

// heldRefs returns the lock files of session_refs that are held.
func heldRefs(w *workspace.Workspace) (held map[string]bool, err error) {
	names, err := workspace.Files(w.FS, workspace.LocksDir, ".lock")
	if err != nil {
		return nil, err
	}
	held = map[string]bool{}
	for _, name := range names {
		if !strings.HasPrefix(name, refLockPrefix) {
			continue
		}
		file := workspace.LockFile(strings.TrimSuffix(name, ".lock"))
		busy, err := lock.Busy(w.FS, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if busy {
			held[file] = true
		}
	}
	return held, nil
}

// ownerAlive reports whether a record's session has a live owner. Locks decide for our records.
// For another program's record, the owner's process counts as well.
func ownerAlive(w *workspace.Workspace, record doc.Session) bool {
	if record.Socket != "" || record.OwnerPID == nil {
		return RefAlive(w, record.Ref)
	}
	return RefAlive(w, record.Ref) || foreignOwnerAlive(record)
}

// foreignOwnerAlive reports whether another program's runtime, named as owner in a record, is
// alive.
func foreignOwnerAlive(record doc.Session) bool {
	return record.Socket == "" && record.OwnerPID != nil && proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Alive()
}

// Live reports whether a record's session runs: not final, and with a live owner. A session on
// another machine runs until its end is recorded, even if its hub is down. Live neither signals
// nor writes.
func Live(w *workspace.Workspace, record doc.Session) bool {
	return !doc.Terminal(record.Status) && (record.Remote() || ownerAlive(w, record))
}

// AnyLive returns the ref of a live session, "" if there is none.
func AnyLive(w *workspace.Workspace) (ref string, err error) {
	records, err := All(w)
	for _, record := range records {
		if Live(w, record) {
			return record.Ref, nil
		}
	}
	return "", err
}

// writeStopMarker writes the stop marker, which every later owner of the run finds.
func writeStopMarker(w *workspace.Workspace, project, run string) error {
	name := path.Join(workspace.ProjectDir(project), StopMarker(run))
	return w.Replace(name, []byte(clock.Stamp(w.Env.Clock.Now())+"\n"), 0o644)
}
