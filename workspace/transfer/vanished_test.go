package transfer_test

// Tests of targets that disappear while they are being replaced.

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"testing"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// unlocking is a file system that calls released when a workspace's write lock is removed.
type unlocking struct {
	durable.FS
	released func()
}

func (u unlocking) Remove(name string) error {
	err := u.FS.Remove(name)
	if path.Base(name) == "workspace.write.lock" {
		u.released()
	}
	return err
}

// TestVanishedTarget replaces the target with an empty directory while the transfer holds the
// lock, and removes that directory when the lock is released. Nothing is in place then, and the
// transfer must report that.
func TestVanishedTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := order(made(t, filepath.Join(dir, "a")), made(t, filepath.Join(dir, "b")))
	o.Force = true
	inside := false
	open := o.Env.OpenFS
	o.Env.OpenFS = func(dir string) (durable.FS, error) {
		fsys, err := open(dir)
		return unlocking{fsys, func() {
			if inside {
				inside = false
				if err := os.Remove(o.To); err != nil {
					t.Error(err)
				}
			}
		}}, err
	}
	calls := 0
	o.Busy = func(*workspace.Workspace) error {
		if calls++; calls == 1 {
			return nil // the check before the copy
		}
		inside = true
		return errors.Join(os.Rename(o.To, o.To+".old"), os.Mkdir(o.To, 0o750))
	}
	if _, err := o.Run(t.Context()); !fault.Is(err, fault.NotAWorkspace) {
		t.Errorf("nothing was placed, and the error is %v", err)
	}
	if calls != 2 || inside {
		t.Errorf("%d calls, %v: the target did not vanish in between", calls, inside)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}
