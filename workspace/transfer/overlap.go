package transfer

// Checking that source and target do not overlap, neither by name nor by what the names
// resolve to.

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ac/internal/durable"
	"ac/internal/fault"
)

func overlap(from, to string) error {
	return fault.New(fault.Conflict, "%s and %s are the same directory, or one contains the other; nothing was changed", from, to)
}

// checkOverlap rejects a target that is the source, contains it, or is inside it. It compares
// directories by device and inode, so that no symlink, alternative spelling or mount hides an
// overlap.
func (o Order) checkOverlap() error {
	above, err := identitiesAbove(o.To)
	if err != nil {
		return err
	}
	source, err := os.Stat(o.From)
	if err != nil {
		return fault.New(fault.IO, "cannot look at %s: %w", o.From, err)
	}
	target, err := os.Stat(o.To)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = nil
	case errors.Is(err, syscall.ENOTDIR):
		return fault.New(fault.Conflict, "%s is not a directory", o.To)
	case err != nil:
		return fault.New(fault.IO, "cannot look at %s: %w", o.To, err)
	}
	if above[durable.IdentityOf(source)] || (target != nil && durable.SameFile(source, target)) {
		return overlap(o.From, o.To)
	}
	if target == nil {
		return nil
	}
	holders, err := identitiesAbove(o.From)
	if err != nil {
		return err
	}
	if holders[durable.IdentityOf(target)] || (o.Force && target.IsDir() && containsFolder(o.To, source)) {
		return overlap(o.From, o.To)
	}
	return nil
}

// identitiesAbove returns the identities of the existing directories above a path.
func identitiesAbove(dir string) (map[durable.Identity]bool, error) {
	above := map[durable.Identity]bool{}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if err == nil {
			above[durable.IdentityOf(st)] = true
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, fault.New(fault.IO, "cannot look at %s: %w", at, err)
		}
		if at == filepath.Dir(at) {
			return above, nil
		}
	}
}

// containsFolder reports whether the sought directory is somewhere below dir, for instance through
// a bind mount.
func containsFolder(dir string, sought fs.FileInfo) bool {
	found := errors.New("found")
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil //nolint:nilerr // what cannot be read cannot be removed either
		}
		if st, err := e.Info(); err == nil && durable.SameFile(st, sought) {
			return found
		}
		return nil
	})
	return errors.Is(err, found)
}
