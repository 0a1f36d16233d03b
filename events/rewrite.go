package events

// Replacing a whole log while others append to it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"ac/internal/durable"
)

// Rewriting makes a new text of a log. It reads the old one from in to its end.
// replace is false when the old text is to stay. It is called again when the
// log grew meanwhile.
type Rewriting func(in io.Reader, out io.Writer) (replace bool, err error)

// attempts is how often a log that others go on writing without its lock is read
// again.
const attempts = 10

// ErrGrowing is returned for a log that others keep writing without its lock.
var ErrGrowing = errors.New("the log is being written by a program that does not take its lock")

// Rewrite replaces a log, which must exist, under its lock. temp is a free name
// in the same directory. The new text is durable when Rewrite returns; when it
// fails the old one stands, or the new one without a promise. Appenders find the
// new file by themselves.
func Rewrite(ctx context.Context, fsys durable.FS, name, temp string, rewrite Rewriting) (err error) {
	if _, err := fsys.Stat(name); err != nil {
		return err // locking would make it
	}
	l := OpenLog(fsys, name)
	h, err := l.lock(ctx)
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, l.Close()) }() // gives the lock up
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

// rewrite is one attempt; again when the log changed under it.
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
