package session

// The record of a session, and the locks that say who owns it.

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

// LocalRef is the session_ref of a run that nobody named one for.
func LocalRef(runID string) string { return "local_" + runID }

// maxEncodedRef bounds the file name of a record.
const maxEncodedRef = 200

// CheckRef says why a text cannot be a session_ref, or "".
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

// Read reads the record of a session as it is written.
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

// All reads the records of a workspace, the newest first. Files that are no
// records are passed over.
func All(w *workspace.Workspace) ([]doc.Session, error) { return NamedAfter(w, "") }

// NamedAfter is All for the sessions whose ref holds the id of a run, as the
// refs do that nobody chose. It reads no other file.
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

// WriteRecord writes the record of a session, durable when it returns. Only the holder of its
// claim does.
func WriteRecord(w *workspace.Workspace, record doc.Session) error {
	text, err := doc.SessionCodec.Encode(record)
	if err != nil {
		return err
	}
	return w.Replace(workspace.SessionFile(record.Ref), text, 0o600)
}

// The kernel locks of a session lie beside the others, named by a digest since
// ids may be as long as a file name.

func runLock(project, run string) string {
	return workspace.LockFile("run-" + digest(project+"\x00"+run))
}

// refLockPrefix begins the names of the locks of session_refs.
const refLockPrefix = "session-"

func refLock(ref string) string {
	return workspace.LockFile(refLockPrefix + digest(ref))
}

// Claim is the hold on a run and a session_ref.
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

// Release gives both up and removes their files.
func (c *Claim) Release() error { return errors.Join(c.ref.Retire(), c.run.Retire()) }

// RunAlive reports whether some session of a run has a live owner, or goes on elsewhere
// while its hub is down.
func RunAlive(w *workspace.Workspace, project, run string) bool {
	busy, err := lock.Busy(w.FS, runLock(project, run))
	return busy || (err != nil && !errors.Is(err, fs.ErrNotExist)) || unattendedRun(w, project, run)
}

// unattendedRun reports whether a session of a run, whose lock is free, is on another
// machine. Without a hub's folder there is none.
func unattendedRun(w *workspace.Workspace, project, run string) bool {
	if !w.Exists(workspace.HubDir) {
		return false
	}
	for _, named := range []string{run, ""} { // refs that nobody chose hold the run's id
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

// Reserve keeps sessions of a run from starting until it is released. It waits for the
// end of one that lives, until the context ends.
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

// LivingRecords are the records of the sessions that have a live owner. No other file is read.
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
		if record, err := Read(w, ref); err == nil { // what is no record says nothing
			records = append(records, record)
		}
	}
	return records, nil
}

// heldRefs are the locks of session_refs that somebody holds.
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

// ownerAlive tells whether somebody follows the session of a record: by the
// locks for records of ours, by the owner's identity for those of others.
func ownerAlive(w *workspace.Workspace, record doc.Session) bool {
	if record.Socket != "" || record.OwnerPID == nil {
		return RefAlive(w, record.Ref)
	}
	return RefAlive(w, record.Ref) || foreignOwnerAlive(record)
}

// foreignOwnerAlive tells whether the runtime of another program lives that
// says in a record that it follows the session.
func foreignOwnerAlive(record doc.Session) bool {
	return record.Socket == "" && record.OwnerPID != nil && proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Alive()
}

// Live reports whether a record tells of a session that runs: not final, and
// with a live owner. One on another machine runs until its end is recorded, whether its
// hub lives or not. It neither signals nor writes.
func Live(w *workspace.Workspace, record doc.Session) bool {
	return !doc.Terminal(record.Status) && (record.Remote() || ownerAlive(w, record))
}

// AnyLive finds a session that lives, "" where there is none.
func AnyLive(w *workspace.Workspace) (ref string, err error) {
	records, err := All(w)
	for _, record := range records {
		if Live(w, record) {
			return record.Ref, nil
		}
	}
	return "", err
}

// stamp writes the marker that tells every later owner of a stop.
func stamp(w *workspace.Workspace, project, run string) error {
	name := path.Join(workspace.ProjectDir(project), StopMarker(run))
	return w.Replace(name, []byte(clock.Stamp(w.Env.Clock.Now())+"\n"), 0o644)
}
