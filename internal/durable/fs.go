// Package durable is how ac touches files: through a root that no path and no
// symlink leaves, and so that what was acknowledged survives a power loss.
//
// Invariants: a reader of a path sees an old document or a new one, never a
// part; when Write returns nil, content and name are on the disk; only regular
// files are opened, without ever hanging on a FIFO. FS is the seam through
// which tests inject failures.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// File is an open regular file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
	// SyncData makes what was written durable, less time stamps.
	SyncData() error
	Truncate(size int64) error
	SyscallConn() (syscall.RawConn, error)
}

// FS is a tree of files. Names are relative, with "/", and may not leave it.
// An FS is safe for concurrent use.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// Link gives a file a second name; one that is taken is fs.ErrExist.
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	// ReadNames lists a directory, sorted, without looking at what is in it.
	ReadNames(name string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	Close() error
}

// Root is the FS of a directory on this machine, confined by os.Root.
type Root struct {
	root *os.Root
	path string
}

// OpenRoot opens a directory. The directory is held by its inode: it stays the
// same when it is renamed.
func OpenRoot(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Root{root: root, path: dir}, nil
}

// Path is the name the root was opened by.
func (r *Root) Path() string { return r.path }

// Close releases the directory.
func (r *Root) Close() error { return r.root.Close() }

// OpenFile opens a regular file; anything else is an error. The parent must
// exist.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := r.root.OpenFile(filepath.FromSlash(name), flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return osFile{f}, nil
}

// ErrIrregular is returned for names that are no regular files.
var ErrIrregular = errors.New("not a regular file")

// Mkdir makes one directory.
func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	return r.root.Mkdir(filepath.FromSlash(name), perm)
}

// Rename renames within the root, replacing a file at the new name.
func (r *Root) Rename(from, to string) error {
	return r.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

// Link gives a file a second name within the root.
func (r *Root) Link(from, to string) error {
	return r.root.Link(filepath.FromSlash(from), filepath.FromSlash(to))
}

// Remove removes a file or an empty directory.
func (r *Root) Remove(name string) error { return r.root.Remove(filepath.FromSlash(name)) }

// RemoveAll removes a tree; a missing one is no error.
func (r *Root) RemoveAll(name string) error { return r.root.RemoveAll(filepath.FromSlash(name)) }

// Lstat describes a name without following it when it is a symlink.
func (r *Root) Lstat(name string) (fs.FileInfo, error) { return r.root.Lstat(filepath.FromSlash(name)) }

// Stat describes what a name leads to.
func (r *Root) Stat(name string) (fs.FileInfo, error) { return r.root.Stat(filepath.FromSlash(name)) }

// ReadDir lists a directory, sorted by name.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(r.root.FS(), path.Clean(name))
}

// ReadNames lists a directory, sorted, without looking at what is in it. It is
// several times cheaper than ReadDir.
func (r *Root) ReadNames(name string) ([]string, error) {
	d, err := r.root.Open(filepath.FromSlash(path.Clean(name)))
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, d.Close())
}

// SyncDir makes the names in a directory durable. File systems that cannot do
// it are taken at their word.
func (r *Root) SyncDir(name string) error {
	d, err := r.root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	err = syncDir(d)
	return errors.Join(err, d.Close())
}

type osFile struct{ *os.File }

func (f osFile) SyncData() error { return syncData(f.File) }

// ReadFile reads a whole regular file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	content, _, err := ReadFileInfo(fsys, name, limit)
	return content, err
}

// ReadFileInfo is ReadFile that also tells what the file was when its reading
// began.
func ReadFileInfo(fsys FS, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if st.Size() > limit {
		return nil, st, fmt.Errorf("%s: %d bytes, more than the %d allowed", name, st.Size(), limit)
	}
	content := make([]byte, 0, st.Size()+1)
	for {
		if int64(len(content)) > limit {
			return nil, st, fmt.Errorf("%s: more than the %d bytes allowed", name, limit)
		}
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, st, nil
		}
		if err != nil {
			return nil, st, err
		}
	}
}

// MkdirAll makes a directory and its parents; what is there already stays. New
// names are durable when it returns.
func MkdirAll(fsys FS, name string, perm fs.FileMode) error {
	name = path.Clean(name)
	if st, err := fsys.Stat(name); err == nil {
		if st.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
	}
	if parent := path.Dir(name); parent != "." {
		if err := MkdirAll(fsys, parent, perm); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(name, perm); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// Exists reports whether a name leads to something inside the root.
func Exists(fsys FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}
