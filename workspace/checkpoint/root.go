package checkpoint

// The directory that files are written into: locked, and opened without following symlinks.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ac/internal/durable"
	"ac/internal/lock"
)

// ErrElsewhere reports that a directory is no longer the one that was checked: it was
// replaced, or a symlink leads to another one.
var ErrElsewhere = errors.New("the directory is not the one it was")

// Root is an open target directory, locked against other writers of files.
type Root struct {
	FS       durable.FS
	Identity durable.Identity
	held     *lock.Directory
}

// Lock opens a directory with open and locks it. It waits for the lock until ctx ends.
func Lock(ctx context.Context, open func(dir string) (durable.FS, error), dir string) (*Root, error) {
	fsys, err := open(dir)
	if err != nil {
		return nil, err
	}
	held, err := lock.Dir(ctx, dir)
	if err != nil {
		return nil, errors.Join(err, fsys.Close())
	}
	r := &Root{FS: fsys, Identity: held.Identity, held: held}
	id, err := Identify(fsys, ".")
	if err == nil && id != held.Identity {
		err = fmt.Errorf("%s: %w", dir, ErrElsewhere)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close releases the lock and the directory.
func (r *Root) Close() error { return errors.Join(r.held.Release(), r.FS.Close()) }

// Held returns the lock of the directory.
func (r *Root) Held() *lock.Directory { return r.held }

// Identify returns the device and inode of the file or directory at a name.
func Identify(fsys durable.FS, name string) (durable.Identity, error) {
	st, err := fsys.Stat(name)
	if err != nil {
		return durable.Identity{}, err
	}
	return durable.IdentityOf(st), nil
}

// dirs holds the open directories of a root, by name.
type dirs struct {
	root durable.FS
	open map[string]durable.FS
	made []string // in order of creation
}

func newDirs(root durable.FS) *dirs {
	return &dirs{root: root, open: map[string]durable.FS{".": root}}
}

func (d *dirs) close() (err error) {
	for name, fsys := range d.open {
		if name != "." {
			err = errors.Join(err, fsys.Close())
		}
	}
	return err
}

// at opens a directory under the root, component by component. It returns ErrElsewhere for a
// symlink on the way. It creates missing directories if mk is set, and otherwise returns
// fs.ErrNotExist.
func (d *dirs) at(name string, mk bool) (durable.FS, error) {
	if fsys := d.open[name]; fsys != nil {
		return fsys, nil
	}
	parent, err := d.at(path.Dir(name), mk)
	if err != nil {
		return nil, err
	}
	base := path.Base(name)
	st, err := parent.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) && mk {
		err = parent.Mkdir(base, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			d.made = append(d.made, name) // even after an error: the directory may exist anyway
		} else {
			err = nil
		}
		if err != nil {
			return nil, err
		}
		if err = parent.SyncDir("."); err == nil {
			st, err = parent.Lstat(base)
		}
	}
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("%s: %w", name, ErrElsewhere)
	}
	fsys, err := parent.Sub(base)
	if err != nil {
		return nil, err
	}
	// Lstat saw a directory and no symlink. Check that this is the same one.
	if id, err := Identify(fsys, "."); err != nil || id != durable.IdentityOf(st) {
		if err == nil {
			err = fmt.Errorf("%s: %w", name, ErrElsewhere)
		}
		return nil, errors.Join(err, fsys.Close())
	}
	d.open[name] = fsys
	return fsys, nil
}

// unmake removes the created directories that are empty.
func (d *dirs) unmake() {
	for i := len(d.made) - 1; i >= 0; i-- {
		if parent, err := d.at(path.Dir(d.made[i]), false); err == nil {
			_ = parent.Remove(path.Base(d.made[i])) // others may use it by now
		}
	}
}

// sync makes the names in these open directories durable.
func (d *dirs) sync(names map[string]bool) error {
	for name := range names {
		if err := d.open[name].SyncDir("."); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(name, "./"), err)
		}
	}
	return nil
}
