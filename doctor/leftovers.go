package doctor

// Leftovers of killed processes: lock files, interrupted writes, temporary files.

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"ac/internal/durable"
	"ac/internal/lazyregexp"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

const (
	// oldTemp is the age at which a temporary file counts as a leftover. Writing a document
	// takes milliseconds.
	oldTemp = time.Hour
	// oldAside is the same age for files beside the write lock.
	oldAside = 2 * time.Minute
)

// leftover is a file that a killed process left behind.
type leftover struct {
	name string
	// held explains why it must stay for now, "" if its writer is known to be dead.
	held string
}

// tempName matches names of temporary files and captures the writer's pid.
var tempName = lazyregexp.New(`^\..+\.tmp-([0-9]+)-[0-9]+-[0-9a-f]+$`)

// temporaries finds old temporary files in folders, recursively. It skips worktrees, which
// belong to the agents, and the quarantine.
func temporaries(ctx context.Context, w *workspace.Workspace, below ...string) (found []leftover, err error) {
	now := w.Env.Clock.Now()
	var walk func(dir string)
	walk = func(dir string) {
		entries, readErr := w.FS.ReadDir(dir)
		if readErr != nil || ctx.Err() != nil {
			return // validation reports what cannot be read
		}
		for _, entry := range entries {
			name := path.Join(dir, entry.Name())
			if entry.IsDir() {
				if name != workspace.WorktreesDir && name != workspace.QuarantineDir {
					walk(name)
				}
				continue
			}
			match := tempName().FindStringSubmatch(entry.Name())
			if match == nil || !entry.Type().IsRegular() {
				continue
			}
			st, err := w.FS.Lstat(name)
			if err != nil || now.Sub(st.ModTime()) < oldTemp {
				continue
			}
			l := leftover{name: name}
			if pid, err := strconv.Atoi(match[1]); err != nil || proc.Exists(pid) {
				l.held = "a process with the pid of its writer is alive"
			}
			found = append(found, l)
		}
	}
	for _, dir := range below {
		walk(dir)
	}
	return found, ctx.Err()
}

// besideLock finds leftovers beside the write lock: files of processes that were killed while
// taking it.
func besideLock(w *workspace.Workspace) (found []leftover) {
	name, _ := w.WriteLock()
	entries, err := w.FS.ReadDir(workspace.LocksDir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), path.Base(name)+".")
		isNew := strings.HasPrefix(rest, "new-")
		if !ok || !isNew && !strings.HasPrefix(rest, "stale-") {
			continue
		}
		file := path.Join(workspace.LocksDir, entry.Name())
		st, err := w.FS.Lstat(file)
		if err != nil || !st.Mode().IsRegular() || w.Env.Clock.Now().Sub(st.ModTime()) < oldAside {
			continue
		}
		l := leftover{name: file}
		if owner := ownerIn(w, file); isNew && owner.PID > 0 && (owner.Host != "" && owner.Host != w.Env.Host || proc.Exists(owner.PID)) {
			l.held = fmt.Sprintf("process %d may be alive", owner.PID)
		}
		found = append(found, l)
	}
	return found
}

func ownerIn(w *workspace.Workspace, file string) (owner lock.Owner) {
	text, err := durable.ReadFile(w.FS, file, 1<<16)
	if err == nil {
		_ = json.Unmarshal(text, &owner) // a torn file names no owner
	}
	return owner
}

// sessionLock matches the lock files of runs and sessions. Their holder removes them at the
// end.
var sessionLock = lazyregexp.New(`^(run|session)-[0-9a-f]+\.lock$`)

// staleLocks returns the lock files of runs and sessions that no process holds.
func staleLocks(w *workspace.Workspace) (names []string) {
	entries, err := w.FS.ReadDir(workspace.LocksDir)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if !sessionLock().MatchString(entry.Name()) {
			continue
		}
		file := path.Join(workspace.LocksDir, entry.Name())
		if busy, err := lock.Busy(w.FS, file); !busy && err == nil {
			names = append(names, file)
		}
	}
	return names
}

func (p Target) locks(context.Context) Check {
	const id = "locks"
	name, found := p.Workspace.WriteLock()
	var details []string
	if found.Dead {
		details = append(details, fmt.Sprintf("%s: held by process %d since %s, which is dead", name, found.Owner.PID, found.Owner.AcquiredAt))
	}
	for _, dead := range staleLocks(p.Workspace) {
		details = append(details, dead+": of a session without a live owner")
	}
	if len(details) > 0 {
		return Check{
			ID: id, Status: Warn, Message: plural(len(details), "lock") + " left by dead processes", Details: shortened(details),
			Hint: "They expire by themselves. Remove them now with: ac workspace:doctor " + p.RequestedDir + " --fix",
		}
	}
	if found.Present {
		return pass(id, "being written by process %d since %s", found.Owner.PID, found.Owner.AcquiredAt)
	}
	return pass(id, "no lock of a dead process")
}

func (p Target) journal(context.Context) Check {
	const id = "journal"
	units, err := p.Workspace.InterruptedUnits()
	if err != nil {
		return unknown(id, err)
	}
	if len(units) == 0 {
		return pass(id, "no write was interrupted")
	}
	c := Check{
		ID: id, Status: Warn, Message: plural(len(units), "interrupted write") + " for the next writer to finish",
		Hint: "The next command that changes the workspace finishes it; to finish it now: ac workspace:doctor " + p.RequestedDir + " --fix",
	}
	for _, unit := range units {
		if unit.Reason != "" {
			c.Status, c.Message = Fail, "an interrupted write can never be finished and blocks every writer"
			c.Hint = "Set it aside, with the reason, by: ac workspace:doctor " + p.RequestedDir + " --fix"
			c.Details = append(c.Details, unit.Name+": can never be finished: "+unit.Reason)
		}
		for _, step := range unit.Steps {
			c.Details = append(c.Details, unit.Name+": "+step)
		}
	}
	c.Details = shortened(c.Details)
	return c
}

func (p Target) leftovers(ctx context.Context) Check {
	found, err := temporaries(ctx, p.Workspace, workspace.Roots()...)
	if err != nil {
		return unknown("leftovers", err)
	}
	return p.left(found)
}

// nearLeftovers is leftovers for the few folders that are quick to scan.
func (p Target) nearLeftovers(ctx context.Context) Check {
	found, err := temporaries(ctx, p.Workspace, workspace.TempDir, workspace.LocksDir, workspace.SessionsDir)
	if err != nil {
		return unknown("leftovers", err)
	}
	return p.left(found)
}

// left returns the check of the given leftovers and of those beside the write lock.
func (p Target) left(found []leftover) Check {
	const id = "leftovers"
	found = append(found, besideLock(p.Workspace)...)
	var details []string
	for _, l := range found {
		details = append(details, l.name)
	}
	abandoned, err := p.Workspace.AbandonedStages()
	if err != nil {
		return unknown(id, err)
	}
	if details = append(details, abandoned...); len(details) == 0 {
		return pass(id, "no orphaned temporary files")
	}
	return Check{
		ID: id, Status: Warn, Message: plural(len(details), "orphaned temporary file") + " of killed processes", Details: shortened(details),
		Hint: "Readers ignore them. Remove them with: ac workspace:doctor " + p.RequestedDir + " --fix",
	}
}
