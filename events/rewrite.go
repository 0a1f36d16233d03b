package events

// Replacing a whole log while other processes may append to it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"ac/internal/durable"
)

// Rewriting writes the new text of a log to out. It must read the old text from in to its end.
// replace is false to keep the old text. If the log grew meanwhile, Rewrite calls it again.
type Rewriting func(in io.Reader, out io.Writer) (replace bool, err error)

// attempts is how often Rewrite retries when a program without the lock writes to the log.
const attempts = 10

// ErrGrowing reports a log that another program keeps writing without holding its lock.
var ErrGrowing = errors.New("the log is being written by a program that does not hold its lock")

// Rewrite replaces an existing log under its lock. temp is a free name in the same directory.
// When Rewrite returns nil, the new text is durable. After an error the log has either the old
// text, or the new text without durability. Appenders find the new file on their own, since they
// compare inodes.
func Rewrite(ctx context.Context, fsys durable.FS, name, temp string, rewrite Rewriting) (err error) {
	if _, err := fsys.Stat(name); err != nil {
		return err // locking would create the file
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
