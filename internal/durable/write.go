package durable

// Atomic replacement of whole documents.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Namer makes the names of temporary files from the process ID, the time and random hex digits.
type Namer struct {
	PID    int
	UnixMS func() int64
	Random func(bytes int) string
}

// TempName returns the name of a temporary file in the directory of a target. It begins with a
// dot and ends in random hex digits, so that no reader mistakes it for a document.
func (n Namer) TempName(target string) string {
	base := fmt.Sprintf(".%s.tmp-%d-%d-%s", path.Base(target), n.PID, n.UnixMS(), n.Random(6))
	return path.Join(path.Dir(target), base)
}

// IsTempName reports whether a base name has the form of TempName.
func IsTempName(base string) bool {
	return strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-")
}

// Write replaces a document atomically: it writes a temporary file in the same directory, syncs
// it, renames it over the target and syncs the directory. It creates missing parents. When it
// returns nil the document is durable. When it fails the old document stays. If only the last
// sync failed, the new one is in place but may not be durable.
func (n Namer) Write(fsys FS, name string, content []byte, perm fs.FileMode) error {
	if parent := path.Dir(name); parent != "." {
		if err := MkdirAll(fsys, parent, 0o755); err != nil {
			return err
		}
	}
	temp := n.TempName(name)
	if err := WriteNew(fsys, temp, content, perm); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, ignoreMissing(fsys.Remove(temp))))
	}
	if err := fsys.Rename(temp, name); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, ignoreMissing(fsys.Remove(temp))))
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// WriteUnsynced replaces a document atomically but does not sync. After a crash a reader may
// find the old document. The directory must exist.
func (n Namer) WriteUnsynced(fsys FS, name string, content []byte, perm fs.FileMode) error {
	temp := n.TempName(name)
	f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err == nil {
		if err = errors.Join(WriteAll(f, content), f.Close()); err == nil {
			err = fsys.Rename(temp, name)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, ignoreMissing(fsys.Remove(temp))))
	}
	return nil
}

// WriteNew writes a file that must not exist yet and syncs its content; its
// name is not durable until its directory is synced.
func WriteNew(fsys FS, name string, content []byte, perm fs.FileMode) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if err := WriteAll(f, content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.SyncData(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// WriteAll writes everything or fails. A short write without an error is io.ErrShortWrite.
func WriteAll(w io.Writer, content []byte) error {
	n, err := w.Write(content)
	if err == nil && n < len(content) {
		err = io.ErrShortWrite
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
