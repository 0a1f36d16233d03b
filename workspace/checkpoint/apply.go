package checkpoint

// Applying and rolling back a checkpoint: all of its files together.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ac/internal/durable"
)

// Work is a checkpoint being applied, under the lock of its target.
type Work struct {
	FS    durable.FS // the workspace
	Dir   string     // the folder of the checkpoint
	Namer durable.Namer
	Root  *Root

	plan   Plan
	dirs   *dirs
	placed map[int]bool // the files that may already have their new bytes
	// lenient keeps the failure of one file from failing the whole checkpoint.
	lenient bool
}

// WriteError is a failure to write one file. It does not imply that the file changed.
type WriteError struct {
	Path  string
	Cause error
}

func (e *WriteError) Error() string { return fmt.Sprintf("write %s: %s", e.Path, e.Cause) }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Cause }

// ConflictOf returns the file that err found changed. ok is false for every other error.
func ConflictOf(err error) (p Problem, ok bool) {
	var conflict *conflictError
	if !errors.As(err, &conflict) {
		return p, false
	}
	return Problem{conflict.path, "conflict", strings.ReplaceAll(err.Error(), "\n", "; ")}, true
}

// Begin loads the plan and prepares the work. The caller calls End.
func (w *Work) Begin() (err error) {
	if w.plan, err = Load(w.FS, w.Dir); err != nil {
		return err
	}
	w.dirs, w.placed = newDirs(w.Root.FS), map[int]bool{}
	return nil
}

// End releases what Begin opened.
func (w *Work) End() error { return w.dirs.close() }

// Apply changes every file as planned and writes the outcome. Both are durable when it
// returns nil. If a file differs from what the plan expects, Apply fails if the plan has
// Refuse set. Otherwise it leaves the file alone and lists it in the outcome. After a failure
// the caller calls RollBack.
func (w *Work) Apply() (Outcome, error) { return w.applyChanges(Outcome{}, w.forward) }

// Recover finishes a checkpoint whose writer died. Files with their new bytes stay, and files
// with their old bytes are written. All others are left alone and listed in the outcome. So
// are files that cannot be written: the workspace does not wait for another directory.
func (w *Work) Recover() (Outcome, error) {
	w.plan.Refuse, w.lenient = false, true
	return w.applyChanges(Outcome{Recovered: true}, w.forward)
}

// RollBack undoes what Apply did before it failed, and removes the directories that Apply
// created. It leaves files alone that somebody changed meanwhile, and lists them in the
// outcome. After an I/O error, the files not yet restored can still be rolled forward.
func (w *Work) RollBack() (Outcome, error) {
	w.plan.Refuse = false
	outcome, err := w.applyChanges(Outcome{State: RolledBack}, w.backward)
	if err == nil {
		w.dirs.unmake()
	}
	return outcome, err
}

// applyChanges performs the changes: it clears leftovers, writes all bytes to temporary files beside
// their places, puts everything in place, then makes the names durable. While files are put
// in place, a mark in the checkpoint's folder tells a recovery what a leftover may be.
func (w *Work) applyChanges(outcome Outcome, changeOf func(n int) (*change, error)) (Outcome, error) {
	changes := make([]*change, len(w.plan.Files))
	mark := path.Join(w.Dir, stagedFile)
	staged := durable.Exists(w.FS, mark)
	each := func(do func(n int, c *change) error) error {
		for n, c := range changes {
			if c == nil {
				continue
			}
			if err := do(n, c); err != nil {
				changes[n] = nil
				if err = w.judge(&outcome, n, err); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for n := range w.plan.Files {
		c, err := changeOf(n)
		if err = w.judge(&outcome, n, err); err != nil {
			return outcome, err
		}
		changes[n] = c
	}
	if err := each(func(_ int, c *change) error { return c.tidy(staged) }); err != nil {
		return outcome, err
	}
	if staged {
		if err := errors.Join(w.FS.Remove(mark), w.FS.SyncDir(w.Dir)); err != nil {
			return outcome, err
		}
	}
	staging := durable.Parallel(len(changes), func(n int) error { return changes[n].begin() })
	stagingOf := func(n int, c *change) error {
		if errors.Is(staging[n], errNoChange) {
			changes[n] = nil
			return nil
		}
		if staging[n] != nil {
			_ = c.drop() // best effort: remove the partial file
		}
		return staging[n]
	}
	if err := each(stagingOf); err != nil {
		return outcome, err
	}
	if err := errors.Join(durable.WriteNew(w.FS, mark, nil, 0o644), w.FS.SyncDir(w.Dir)); err != nil {
		return outcome, err
	}
	if err := each(func(n int, c *change) error { w.placed[n] = true; return c.put() }); err != nil {
		return outcome, err
	}
	return w.finish(outcome)
}

// Abandon writes the outcome of a checkpoint whose target is gone. None of its files can be
// changed any more, so all are conflicts.
func Abandon(fsys durable.FS, dir string, namer durable.Namer, cause error) (Outcome, error) {
	w := Work{FS: fsys, Dir: dir, Namer: namer}
	outcome := Outcome{State: Conflicted, Recovered: true}
	plan, err := Load(fsys, dir)
	if err != nil {
		return outcome, err
	}
	for _, f := range plan.Files {
		outcome.Conflicts = append(outcome.Conflicts, Problem{f.Path, "conflict", "the target cannot be reached: " + cause.Error()})
	}
	return outcome, w.write(outcome)
}

// judge decides whether a failure with one file fails the whole checkpoint.
func (w *Work) judge(outcome *Outcome, n int, err error) error {
	name := w.plan.Files[n].Path
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrElsewhere) {
		err = errors.Join(&conflictError{path: name, found: irregular, base: w.plan.Files[n].Base}, err)
	}
	problem, conflicting := ConflictOf(err)
	switch {
	case conflicting && !w.plan.Refuse:
		outcome.Conflicts = append(outcome.Conflicts, problem)
	case w.lenient:
		outcome.Conflicts = append(outcome.Conflicts, Problem{name, "write_failed", err.Error()})
	default:
		return &WriteError{name, err}
	}
	return nil
}

// forward returns the change of the n-th file, nil if the file was to be deleted and its
// directory is gone. It creates the directories that a new file needs.
func (w *Work) forward(n int) (*change, error) {
	f := w.plan.Files[n]
	dir, err := w.dirs.at(path.Dir(f.Place), f.Base == "")
	if errors.Is(err, fs.ErrNotExist) {
		if f.New == "" {
			return nil, nil //nolint:nilnil // nothing is to be done
		}
		return nil, errors.Join(&conflictError{path: f.Path, base: f.Base}, err)
	}
	if err == nil && f.Parent != (durable.Identity{}) {
		var id durable.Identity
		if id, err = Identify(dir, "."); err == nil && id != f.Parent {
			err = fmt.Errorf("%s: %w", path.Dir(f.Place), ErrElsewhere)
		}
	}
	if err != nil {
		return nil, err
	}
	content, err := w.plan.content(w.FS, w.Dir, n)
	return &change{
		path: f.Path, dir: dir, name: path.Base(f.Place), temp: f.Temp,
		base: f.Base, want: f.New, content: content, mode: f.NewMode, exact: f.Base != "",
	}, err
}

// finish makes the names durable and writes the outcome.
func (w *Work) finish(outcome Outcome) (Outcome, error) {
	if outcome.State == "" {
		outcome.State = Applied
	}
	if len(outcome.Conflicts) > 0 {
		outcome.State = Conflicted
	}
	return outcome, w.end(outcome)
}

func (w *Work) end(outcome Outcome) error {
	touched := map[string]bool{}
	for _, f := range w.plan.Files {
		if dir := path.Dir(f.Place); w.dirs.open[dir] != nil {
			touched[dir] = true
		}
	}
	if err := w.dirs.sync(touched); err != nil {
		return err
	}
	return w.write(outcome)
}

func (w *Work) write(outcome Outcome) error {
	text, err := json.Marshal(outcome)
	if err != nil {
		return err
	}
	return w.Namer.Write(w.FS, path.Join(w.Dir, outcomeFile), append(text, '\n'), 0o644)
}

// backward returns the change that restores the n-th file, nil if there is nothing to
// restore.
func (w *Work) backward(n int) (*change, error) {
	f := w.plan.Files[n]
	dir, err := w.dirs.at(path.Dir(f.Place), false)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrElsewhere) {
		return nil, nil //nolint:nilnil // nothing was written there
	}
	if err != nil {
		return nil, err
	}
	before, err := w.plan.Old(w.FS, w.Dir, n)
	return &change{
		path: f.Path, dir: dir, name: path.Base(f.Place), temp: f.Temp,
		base: f.New, want: f.Base, content: before, mode: f.OldMode, exact: true, skipForeign: !w.placed[n],
	}, err
}
