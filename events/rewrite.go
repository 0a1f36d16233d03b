package events

// Replacing a whole log while other processes append to it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"ac/internal/durable"
)

// Rewriting makes the new text of a log. It reads the old text from in to its
// end. replace is false if the old text should stay. It is called again if the
// log grew meanwhile.
type Rewriting func(in io.Reader, out io.Writer) (replace bool, err error)

// attempts bounds how often a log is read again because another program writes
// to it without its lock.
const attempts = 10

// ErrGrowing is returned for a log that another program keeps writing without
// its lock.
var ErrGrowing = errors.New("the log is being written by a program that does not hold its lock")

// Rewrite replaces an existing log under its lock. temp is a free name in the
// same directory. When it returns nil the new text is durable. If it fails, the
// old text stands, or the new one without being durable. Appenders find the new
// file by themselves, since they compare inodes.
func Rewrite(ctx context.Context, fsys durable.FS, name, temp string, rewrite Rewriting) (err error) {
	if _, err := fsys.Stat(name); err != nil {
		return err // locking would create it
	}
	l := OpenLog(fsys, name)
	h, err := l.lock(ctx)
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, l.Close()) }() // also releases the lock
	for range attempts {
		again, err := h.rewrite(fsys, name, temp, rewrite)
		if err != nil {
			return fmt.Errorf("rewrite %s: %w", name, err)
		}
		if !again {
			return nil
		}
	}
	return fmt.Errorf("rewrite %s: %w", name, ErrGrowing)
}

// rewrite is one attempt; again is true if the log changed meanwhile.
func (h *handle) rewrite(fsys durable.FS, name, temp string, rewrite Rewriting) (again bool, err error) {
	before, err := h.file.Stat()
	if err != nil {
		return false, err
	}
	out, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, before.Mode().Perm())
	if err != nil {
		return false, err
	}
	defer func() {
		if again || err != nil {
			err = errors.Join(err, ignoreMissing(fsys.Remove(temp)))
		}
	}()
	replace, err := rewrite(io.NewSectionReader(h.file, 0, before.Size()), out)
	if err == nil && replace {
		err = out.SyncData()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return false, err
	}
	if !replace {
		return false, fsys.Remove(temp)
	}
	after, err := h.file.Stat()
	if err != nil {
		return false, err
	}
	there, err := fsys.Stat(name)
	if err != nil {
		return false, err
	}
	if !durable.SameFile(after, there) {
		return false, errors.New("it was replaced meanwhile")
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return true, nil
	}
	if err := fsys.Chmod(temp, before.Mode().Perm()); err != nil {
		return false, err
	}
	if err := fsys.Rename(temp, name); err != nil {
		return false, err
	}
	return false, fsys.SyncDir(path.Dir(name))
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
