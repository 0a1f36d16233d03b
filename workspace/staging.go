package workspace

// Staging: building trees before locking the workspace, for trees that are too large for
// memory or slow to build.

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
)

// Staging is a directory under construction, outside the directories that readers search. It
// is not safe for concurrent use. The caller must Discard it, whether placed or not.
type Staging struct {
	w    *Workspace
	held *lock.Hold // held while the tree is being built
	dir  string
	dirs []string // relative, in order of creation
}

// NewStaging creates an empty staging directory.
func (w *Workspace) NewStaging() (*Staging, error) {
	s := &Staging{w: w, dir: path.Join(TempDir, w.Env.IDs.New(heldStage)), dirs: []string{"."}}
	var err error
	if s.held, err = lock.Try(w.FS, s.dir+lockSuffix); err != nil {
		return nil, err
	}
	if err := w.FS.Mkdir(s.dir, 0o755); err != nil {
		return nil, errors.Join(err, s.held.RemoveAndRelease())
	}
	return s, nil
}

// heldStage is the prefix of staging directories with a lock beside them. The lock shows
// whether the directory is still in use.
const (
	heldStage  = "held"
	lockSuffix = ".lock"
)

// clearStages removes the staging directories of dead builders.
func (w *Workspace) clearStages() error {
	names, err := w.listed(TempDir, heldStage+"_")
	for _, name := range names {
		dir := strings.TrimSuffix(name, lockSuffix)
		held, tryErr := lock.Try(w.FS, dir+lockSuffix)
		if errors.Is(tryErr, lock.ErrBusy) {
			continue
		}
		if tryErr == nil {
			tryErr = errors.Join(w.FS.RemoveAll(dir), held.RemoveAndRelease())
		}
		err = errors.Join(err, tryErr)
	}
	return err
}

// Mkdir creates a directory in the stage. Its parent must exist.
func (s *Staging) Mkdir(name string) error {
	if err := s.w.FS.Mkdir(path.Join(s.dir, name), 0o755); err != nil {
		return err
	}
	s.dirs = append(s.dirs, name)
	return nil
}

// File creates a file in the stage. The caller syncs and closes it.
func (s *Staging) File(name string) (durable.File, error) {
	return s.w.FS.OpenFile(path.Join(s.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// Remove removes a file from the stage.
func (s *Staging) Remove(name string) error { return s.w.FS.Remove(path.Join(s.dir, name)) }

// WriteFile durably creates a file with this content in the stage.
func (s *Staging) WriteFile(name string, content []byte) error {
	return durable.WriteNew(s.w.FS, path.Join(s.dir, name), content, 0o644)
}

// Seal makes the names in the stage durable.
func (s *Staging) Seal() error {
	for _, dir := range s.dirs {
		if err := s.w.FS.SyncDir(path.Join(s.dir, dir)); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes whatever was not put in place.
func (s *Staging) Discard() error {
	return errors.Join(s.w.FS.RemoveAll(s.dir), s.held.RemoveAndRelease())
}

// Place queues moving a sealed stage to dir, which must not exist. Place creates the parent
// of dir if needed. The grandparent must exist.
func (u *Unit) Place(dir string, s *Staging) error {
	if u.w.Exists(dir) {
		return fault.New(fault.Conflict, "%s exists already", dir)
	}
	err := u.w.FS.Mkdir(path.Dir(dir), 0o755)
	if err == nil {
		err = u.w.FS.SyncDir(path.Dir(path.Dir(dir)))
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	u.ops = append(u.ops, operation{Kind: opRename, Name: dir, From: s.dir})
	return nil
}
