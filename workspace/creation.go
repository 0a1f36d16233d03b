package workspace

// Founding a company: atomically creating a workspace with its initial content. No partial
// workspace is ever visible.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
)

// CreateOptions is the initial content of a new workspace.
type CreateOptions struct {
	CompanyName string
	// Build fills the new workspace before it becomes visible. It may be nil.
	Build func(*Workspace) error
	// Busy returns an error if something still runs in the workspace to be replaced.
	Busy func(*Workspace) error
	// ForceHint describes the effect of the caller's force option, for the error about a
	// directory that is not empty.
	ForceHint string
}

// Roots returns the top-level directories of a workspace: those of Portable, and the
// machine-local one. Everything else beside them belongs to the user.
func Roots() []string { return append(Portable(), LocalDir) }

// Portable returns the top-level directories of a company that are the same on every machine.
func Portable() []string { return []string{"company", "org", "work", "inbox"} }

// Create makes a workspace in a directory that is missing or empty. It is atomic: after an
// interruption at any point, the whole workspace exists or none of it.
func Create(ctx context.Context, env Env, dir string, f CreateOptions) error {
	if strings.TrimSpace(f.CompanyName) == "" {
		return fault.InvalidField("company_name", "must not be blank")
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createBeside(ctx, env, Canonical(dir), f)
	case errors.Is(err, syscall.ENOTDIR), err == nil && !st.IsDir():
		return fault.New(fault.Conflict, "%s is not a directory", dir)
	case err != nil:
		return fault.New(fault.IO, "cannot create a workspace in %s: %w", dir, err)
	}
	return createInside(ctx, env, dir, f, func(entries []string) error {
		if len(entries) > 0 {
			return fault.New(fault.NotEmpty, "%s is not empty; nothing was changed (choose an empty directory, or force to %s)", dir, cmp.Or(f.ForceHint, "add a workspace to its content"))
		}
		return nil
	})
}

// Recreate replaces the workspace in a directory with a new one. Other files there stay. A
// directory without a workspace gets one, provided that none of the names of Roots exists.
func Recreate(ctx context.Context, env Env, dir string, f CreateOptions) error {
	w, err := Open(env, dir)
	if err == nil {
		return errors.Join(w.recreate(ctx, f), w.Close())
	}
	if st, statErr := os.Stat(dir); statErr != nil || !st.IsDir() {
		return Create(ctx, env, dir, f)
	}
	if strings.TrimSpace(f.CompanyName) == "" {
		return fault.InvalidField("company_name", "must not be blank")
	}
	return createInside(ctx, env, dir, f, func(entries []string) error {
		for _, name := range Roots() {
			if slices.Contains(entries, name) {
				return fault.New(fault.NotAWorkspace, "%s has %s but is not a workspace (it has no %s); nothing was changed", dir, name, CompanyFile)
			}
		}
		return nil
	})
}

// createBeside builds a workspace for a directory that does not exist.
func createBeside(ctx context.Context, env Env, dir string, f CreateOptions) error {
	site, err := NewTreeSwap(env, dir)
	if err != nil {
		return err
	}
	if err = buildAt(ctx, env, site.Dir(), f); err == nil {
		err = site.Place()
	}
	return errors.Join(err, site.Close())
}

// buildAt makes a workspace in an empty directory.
func buildAt(ctx context.Context, env Env, dir string, f CreateOptions) error {
	fsys, err := env.FS(dir)
	if err != nil {
		return fault.New(fault.IO, "cannot open %s: %w", dir, err)
	}
	w := newWorkspace(env, dir, fsys)
	err = w.init(ctx, f.CompanyName)
	if err == nil && f.Build != nil {
		err = f.Build(w)
	}
	return errors.Join(err, w.Close())
}

// createInside builds a workspace in an existing directory. It does not replace the directory,
// which may be some process's working directory. accept returns an error to refuse the
// directory's entries.
func createInside(ctx context.Context, env Env, dir string, f CreateOptions, accept func(entries []string) error) error {
	root, err := env.FS(dir)
	if err != nil {
		return fault.New(fault.IO, "cannot create a workspace in %s: %w", dir, err)
	}
	w := newWorkspace(env, dir, root)
	if !IsWorkspace(root) { // in a workspace, an interrupted unit may still need the staged tree
		err = w.removeInnerStages()
	}
	if err == nil {
		err = w.checkEntries(accept)
	}
	if err == nil {
		err = w.placeInside(ctx, f)
	}
	return errors.Join(err, w.Close())
}

func (w *Workspace) checkEntries(accept func(entries []string) error) error {
	entries, err := w.FS.ReadDir(".")
	if err != nil {
		return fault.New(fault.IO, "cannot list %s: %w", w.dir, err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), innerStagePrefix) {
			names = append(names, e.Name())
		}
	}
	return accept(names)
}

// ErrBeingMade reports that another process is creating a workspace in the directory.
var ErrBeingMade = errors.New("another process is creating a workspace here")

// innerStagePrefix is the prefix of staging directories inside their target directory. completeMark
// is a file in a staging directory. It records that the staged workspace was complete before
// anything was moved out.
const (
	innerStagePrefix = ".workspace.tmp-"
	completeMark     = "complete"
)

// innerStage is a staging directory inside its target directory.
type innerStage struct {
	w    *Workspace
	name string
	held *lock.Hold
}

func (w *Workspace) newInnerStage(ctx context.Context, f CreateOptions) (*innerStage, error) {
	s := &innerStage{w: w, name: w.namer.TempName("workspace")}
	var err error
	if s.held, err = lock.Try(w.FS, s.name+lockSuffix); err != nil {
		err = errors.Join(err, ignoreMissing(w.FS.Remove(s.name+lockSuffix)))
		return nil, fault.New(fault.IO, "cannot create a workspace in %s: %w", w.dir, err)
	}
	err = w.FS.Mkdir(s.name, 0o755)
	if err == nil {
		err = buildAt(ctx, w.Env, path.Join(w.dir, s.name), f)
	}
	if err == nil {
		err = durable.WriteNew(w.FS, path.Join(s.name, completeMark), nil, 0o644)
	}
	if err == nil {
		err = errors.Join(w.FS.SyncDir(s.name), w.FS.SyncDir("."))
	}
	if err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s, nil
}

func (s *innerStage) discard() error {
	return errors.Join(s.w.FS.RemoveAll(s.name), s.held.RemoveAndRelease())
}

// placeInside moves a complete workspace into its directory. It moves "company" last, since
// that makes the directory a workspace.
func (w *Workspace) placeInside(ctx context.Context, f CreateOptions) error {
	s, err := w.newInnerStage(ctx, f)
	if err != nil {
		return err
	}
	names := Roots()
	slices.Reverse(names)
	for _, name := range names {
		if err = w.FS.Rename(path.Join(s.name, name), name); err != nil {
			break
		}
	}
	if err == nil {
		err = w.FS.SyncDir(".")
	}
	if err != nil {
		err = errors.Join(err, w.moveBack(s.name, names))
	}
	return errors.Join(err, s.discard())
}

// moveBack moves the placed directories back into the staging directory.
func (w *Workspace) moveBack(stage string, names []string) (err error) {
	for _, name := range names {
		if from := path.Join(stage, name); !durable.Exists(w.FS, from) && durable.Exists(w.FS, name) {
			err = errors.Join(err, w.FS.Rename(name, from))
		}
	}
	return err
}

// removeInnerStages removes the staging directories of dead builders. It first moves back what they
// had placed, unless the directory has become a workspace.
func (w *Workspace) removeInnerStages() error {
	names, err := w.listed(".", innerStagePrefix)
	for _, name := range names {
		stage := strings.TrimSuffix(name, lockSuffix)
		if stage == name {
			continue
		}
		held, tryErr := lock.Try(w.FS, name)
		if errors.Is(tryErr, lock.ErrBusy) {
			return fault.New(fault.Conflict, "%s: %w by another process", w.dir, ErrBeingMade)
		}
		if tryErr == nil {
			if durable.Exists(w.FS, path.Join(stage, completeMark)) && !IsWorkspace(w.FS) {
				tryErr = w.moveBack(stage, Roots())
			}
			tryErr = errors.Join(tryErr, w.FS.RemoveAll(stage), held.RemoveAndRelease())
		}
		err = errors.Join(err, tryErr)
	}
	return err
}

// recreate exchanges the whole content of a workspace in one unit.
func (w *Workspace) recreate(ctx context.Context, f CreateOptions) error {
	if strings.TrimSpace(f.CompanyName) == "" {
		return fault.InvalidField("company_name", "must not be blank")
	}
	err := w.Recover(ctx)
	if err == nil {
		err = f.Busy(w)
	}
	if err == nil {
		err = w.removeInnerStages()
	}
	if err != nil {
		return err
	}
	s, err := w.newInnerStage(ctx, f)
	if err != nil {
		return err
	}
	err = w.Update(ctx, func(u *Unit) error {
		if err := f.Busy(w); err != nil {
			return err
		}
		for _, name := range Roots() {
			if err := u.exchangeFor(name, path.Join(s.name, name)); err != nil {
				return err
			}
		}
		return nil
	})
	if w.NeedsRecovery() {
		// The next writer needs the staged tree.
		return errors.Join(err, s.held.Release())
	}
	return errors.Join(err, s.discard())
}
