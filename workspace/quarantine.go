package workspace

// Repairs after interrupted writers: journal entries that can never be finished, and staged
// files.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
)

// InterruptedUnit is a unit whose intent is still in the journal.
type InterruptedUnit struct {
	Name string
	// Steps lists the unit's steps, one a line, each with its progress.
	Steps []string
	// Reason explains why the unit can never be finished, "" if it can.
	Reason string
}

// InterruptedUnits reads the journal. It is read-only.
func (w *Workspace) InterruptedUnits() ([]InterruptedUnit, error) {
	names, err := w.listed(JournalDir, "unit_")
	if err != nil {
		return nil, err
	}
	var units []InterruptedUnit
	for _, name := range names {
		ops, err := w.readIntent(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // finished meanwhile
		}
		unit := InterruptedUnit{Name: name}
		if err != nil {
			unit.Reason = durable.Cause(err)
		} else {
			unit.Steps, unit.Reason = w.describeSteps(ops)
		}
		units = append(units, unit)
	}
	return units, nil
}

// describeSteps returns the steps of a unit with their progress, and the reason if one of them can
// never be done.
func (w *Workspace) describeSteps(ops []operation) (would []string, reason string) {
	for i := range ops {
		state, err := w.state(&ops[i])
		progress := map[opState]string{statePending: "not done", statePartial: "begun", stateDone: "done", stateForeign: "another program changed it since"}[state]
		if err != nil {
			progress = "impossible: " + durable.Cause(err)
			if isPermanent(err) && reason == "" && !ops[i].BestEffort {
				reason = ops[i].Name + ": " + durable.Cause(err)
			}
		}
		would = append(would, ops[i].String()+" ("+progress+")")
	}
	if len(ops) == 0 {
		would = []string{"nothing: it was never completely written"}
	}
	return would, reason
}

// String describes the step.
func (op *operation) String() string {
	switch op.Kind {
	case opWrite:
		return fmt.Sprintf("write %s, %d bytes", op.Name, len(op.Content))
	case opRemove:
		return "remove " + op.Name
	case opRename:
		return "put " + op.Name + " in place"
	case opExchange:
		return "replace " + op.Name + " with its staged tree"
	case opFiles:
		return "apply the files of checkpoint " + op.Name
	}
	return fmt.Sprintf("append %d events to %s", len(op.Drafts), op.Name)
}

// isPermanent reports whether an error is permanent: more disk space, other permissions or
// the end of another process cannot cure it.
func isPermanent(err error) bool {
	for _, passing := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.EMFILE, syscall.ENFILE,
		syscall.EINTR, syscall.EAGAIN, syscall.ETIMEDOUT, syscall.ESTALE, context.Canceled, context.DeadlineExceeded, fs.ErrPermission, fs.ErrClosed,
	} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return true
}

// QuarantineUnfinished finishes interrupted units, as the next writer would. Units that can
// never be finished would block every writer. It moves those into QuarantineDir, each with
// its reason, its staged trees and the trees that it replaced. A unit that cannot be finished
// now but may be later stays, and is an error.
func (w *Workspace) QuarantineUnfinished(ctx context.Context) (moved []InterruptedUnit, err error) {
	unlock, err := w.lock(ctx)
	if err != nil {
		return nil, err
	}
	var logs []string
	defer func() {
		err = errors.Join(err, unlock())
		for _, log := range logs {
			w.NotifyAppend(log)
		}
	}()
	names, err := w.listed(JournalDir, "unit_")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		ops, err := w.readIntent(name)
		var written []string
		if err == nil {
			written, err = w.finish(ctx, ops)
			logs = append(logs, written...)
		}
		if err == nil {
			if err = w.FS.Remove(name); err != nil {
				return moved, err
			}
			continue
		}
		if !isPermanent(err) {
			return moved, fmt.Errorf("finish the interrupted write %s: %w", name, err)
		}
		unit := InterruptedUnit{Name: name, Reason: durable.Cause(err)}
		unit.Steps, _ = w.describeSteps(ops)
		if err := w.quarantine(unit, ops); err != nil {
			return moved, err
		}
		moved = append(moved, unit)
	}
	return moved, w.clearStaging()
}

// reason is the file beside a quarantined intent.
type reason struct {
	SetAsideAt string   `json:"set_aside_at"`
	From       string   `json:"from"`
	Reason     string   `json:"reason"`
	Steps      []string `json:"would"`
}

// quarantine moves the intent itself last, so that the next repair finds it again if this one
// is killed.
func (w *Workspace) quarantine(unit InterruptedUnit, ops []operation) error {
	text, err := json.MarshalIndent(reason{clock.Stamp(w.Env.Clock.Now()), unit.Name, unit.Reason, unit.Steps}, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(w.FS, QuarantineDir, 0o700); err != nil {
		return err
	}
	quarantined := path.Join(QuarantineDir, path.Base(unit.Name))
	if err := w.Replace(quarantined+".reason", append(text, '\n'), 0o600); err != nil {
		return err
	}
	for i, op := range ops {
		// After an exchange, From is the tree that was replaced.
		if (op.Kind == opRename || op.Kind == opExchange) && durable.Exists(w.FS, op.From) {
			if err := w.FS.Rename(op.From, fmt.Sprintf("%s.%d.tree", quarantined, i)); err != nil {
				return err
			}
		}
	}
	if err := w.FS.Rename(unit.Name, quarantined); err != nil {
		return err
	}
	return errors.Join(w.FS.SyncDir(QuarantineDir), w.FS.SyncDir(JournalDir))
}

// AbandonedStages lists the trees that killed writers had staged. It is read-only.
func (w *Workspace) AbandonedStages() (names []string, err error) {
	if w.NeedsRecovery() {
		return nil, nil // an interrupted unit may need its stage
	}
	stages, err := w.listed(TempDir, "stage_")
	if err != nil {
		return nil, err
	}
	if busy, err := lock.Busy(w.FS, writeKernelLock); !busy && err == nil && !w.shared.Inspect().Present {
		names = append(names, stages...)
	}
	held, err := w.listed(TempDir, heldStage+"_")
	for _, name := range held {
		if path.Ext(name) == lockSuffix {
			continue
		}
		if busy, err := lock.Busy(w.FS, name+lockSuffix); !busy && err == nil {
			names = append(names, name)
		}
	}
	return names, err
}

// HeldLock returns the name, without suffix, of a lock (LockFile) that some process holds
// while it works, "" if there is none. It ignores the write lock, which the caller holds.
func (w *Workspace) HeldLock() (name string, err error) {
	names, err := Files(w.FS, LocksDir, lockSuffix)
	for _, file := range names {
		full := path.Join(LocksDir, file)
		if full == writeLockFile {
			continue
		}
		busy, busyErr := lock.Busy(w.FS, full)
		if busy && busyErr == nil {
			return strings.TrimSuffix(file, lockSuffix), nil
		}
		err = errors.Join(err, busyErr)
	}
	return "", err
}

// WriteLock inspects the lock file of the protocol shared with other programs.
func (w *Workspace) WriteLock() (name string, found lock.Inspection) {
	return writeLockFile, w.shared.Inspect()
}

// MissingDirs lists the required directories that this workspace lacks.
func (w *Workspace) MissingDirs() (names []string) {
	for _, name := range RequiredDirs() {
		if _, err := w.FS.Lstat(name); durable.IsAbsent(err) {
			names = append(names, name)
		}
	}
	return names
}
