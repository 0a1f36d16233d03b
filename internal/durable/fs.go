package durable

// FS is a directory tree to read and write; Root is the FS on disk.

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// File is an open regular file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	io.Closer
	Stat() (fs.FileInfo, error)
	// SyncData makes the content durable (fdatasync); timestamps may be lost.
	SyncData() error
	Truncate(size int64) error
	SyscallConn() (syscall.RawConn, error)
}

// FS is a tree of files. Names are relative, separated by "/", and cannot leave
// the tree. An FS is safe for concurrent use.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	// Link adds a second name to a file; if the name is taken the error is
	// fs.ErrExist.
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	// Exchange swaps two names atomically. Where the system cannot, it returns
	// ErrNoExchange.
	Exchange(a, b string) error
	Chmod(name string, perm fs.FileMode) error
	// SetModified sets the modification time.
	SetModified(name string, at time.Time) error
	Symlink(target, name string) error
	Readlink(name string) (string, error)
	// ReadNames lists a directory, sorted, without reading the types of its
	// entries.
	ReadNames(name string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(name string) error
	// Granularity returns the timestamp granularity of a device: two writes of a file that are at
	// least this far apart have different times.
	Granularity(device uint64) time.Duration
	// Sub opens a directory of the tree as a tree of its own. It is bound to the inode, so that
	// it stays the same if the name is reused. A symlink at the name is followed if it stays in
	// the tree. The caller must close it.
	Sub(name string) (FS, error)
	Close() error
}

// Root is the FS of a directory on this machine, confined by os.Root, or by
// openat2(2) where the kernel has it.
type Root struct {
	root    *os.Root
	openat2 *openat2Root
	path    string
	// device is the device of the directory, tick the timestamp granularity of
	// its file system.
	device      uint64
	granularity time.Duration
}

// OpenRoot opens a directory. The root is bound to the inode: renaming the
// directory does not change it.
func OpenRoot(dir string) (*Root, error) {
	// Opening a FIFO would block until it has a writer.
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return newRoot(root, dir), nil
}

func newRoot(root *os.Root, dir string) *Root {
	r := &Root{root: root, openat2: openOpenat2(root), path: dir, granularity: Coarse}
	if self, err := root.Open("."); err == nil {
		if st, err := self.Stat(); err == nil {
			r.device, r.granularity = IdentityOf(st).Device, granularityOf(self)
		}
		_ = self.Close() // opened for reading only
	}
	return r
}

// Sub opens a directory below the root.
func (r *Root) Sub(name string) (FS, error) {
	// Opening a FIFO would block until it has a writer.
	if st, err := r.Stat(name); err == nil && !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	root, err := r.root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return newRoot(root, path.Join(r.path, name)), nil
}

// Granularity returns the granularity of the directory's own file system. Other devices count as
// Coarse.
func (r *Root) Granularity(device uint64) time.Duration {
	if device != r.device {
		return Coarse
	}
	return r.granularity
}

// Path returns the name by which the root was opened.
func (r *Root) Path() string { return r.path }

// Close releases the directory.
func (r *Root) Close() error { return errors.Join(r.openat2.close(), r.root.Close()) }

// fastPathResult reports whether the fast path answered, and returns its error as a
// *fs.PathError.
func fastPathResult(op, name string, err error) (bool, error) {
	if err == errFallback { //nolint:errorlint // told apart by identity
		return false, nil
	}
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return true, err
}

// OpenFile opens a regular file; anything else is an error. The parent must
// exist.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	openat2, err := r.openat2.openFile(name, flag, perm)
	if ok, err := fastPathResult("openat", name, err); ok {
		if err != nil {
			return nil, err
		}
		return osFile{openat2}, nil
	}
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

// ErrIrregular is returned for names that are not regular files.
var ErrIrregular = errors.New("not a regular file")

// Mkdir makes one directory.
func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	if ok, err := fastPathResult("mkdirat", name, r.openat2.mkdir(name, perm)); ok {
		return err
	}
	return r.root.Mkdir(filepath.FromSlash(name), perm)
}

// Rename renames within the root and replaces a file at the new name.
func (r *Root) Rename(from, to string) error {
	if err := r.openat2.rename(from, to); err != errFallback { //nolint:errorlint // told apart by identity
		return linkError("renameat", from, to, err)
	}
	return r.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

// Link adds a second name to a file within the root.
func (r *Root) Link(from, to string) error {
	if err := r.openat2.link(from, to); err != errFallback { //nolint:errorlint // told apart by identity
		return linkError("linkat", from, to, err)
	}
	return r.root.Link(filepath.FromSlash(from), filepath.FromSlash(to))
}

func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// Remove removes a file or an empty directory.
func (r *Root) Remove(name string) error {
	if ok, err := fastPathResult("unlinkat", name, r.openat2.unlink(name)); ok {
		return err
	}
	return r.root.Remove(filepath.FromSlash(name))
}

// RemoveAll removes a tree; a missing one is not an error.
func (r *Root) RemoveAll(name string) error { return r.root.RemoveAll(filepath.FromSlash(name)) }

// ErrNoExchange is returned where two names cannot be swapped atomically.
var ErrNoExchange = errors.New("the file system cannot exchange two names")

// Exchange swaps two names atomically.
func (r *Root) Exchange(a, b string) error {
	first, err := r.openDir(path.Dir(a))
	if err != nil {
		return err
	}
	second, err := r.openDir(path.Dir(b))
	if err != nil {
		return errors.Join(err, first.Close())
	}
	if err = exchange(exchangeSide{first, r.path, a}, exchangeSide{second, r.path, b}); err != nil {
		err = &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return errors.Join(err, first.Close(), second.Close())
}

// exchangeSide is one side of an exchange: its open directory and the path of its
// root.
type exchangeSide struct {
	dir  *os.File
	root string
	name string
}

// Chmod sets the permissions of a name.
func (r *Root) Chmod(name string, perm fs.FileMode) error {
	return r.root.Chmod(filepath.FromSlash(name), perm)
}

// SetModified sets the modification time of a name.
func (r *Root) SetModified(name string, at time.Time) error {
	return r.root.Chtimes(filepath.FromSlash(name), at, at)
}

// Symlink makes a symlink. Its target is not checked.
func (r *Root) Symlink(target, name string) error {
	return r.root.Symlink(filepath.FromSlash(target), filepath.FromSlash(name))
}

// Readlink returns the target of a symlink, separated by "/".
func (r *Root) Readlink(name string) (string, error) {
	target, err := r.root.Readlink(filepath.FromSlash(name))
	return filepath.ToSlash(target), err
}

// Lstat describes a name. It does not follow a symlink.
func (r *Root) Lstat(name string) (fs.FileInfo, error) {
	st, err := r.openat2.stat(name, false)
	if ok, err := fastPathResult("statat", name, err); ok {
		return st, err
	}
	return r.root.Lstat(filepath.FromSlash(name))
}

// Stat describes what a name resolves to.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	st, err := r.openat2.stat(name, true)
	if ok, err := fastPathResult("statat", name, err); ok {
		return st, err
	}
	return r.root.Stat(filepath.FromSlash(name))
}

// ReadDir lists a directory, sorted by name. Where it can, it reads the types from the
// directory itself: for a directory opened through os.Root, the standard library stats every
// entry.
func (r *Root) ReadDir(name string) ([]fs.DirEntry, error) {
	name = path.Clean(name)
	d, err := r.openat2.openDir(name)
	if ok, err := fastPathResult("openat", name, err); !ok {
		if d, err = r.openDir(name); err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	ours := make([]inRoot, len(entries))
	for i, e := range entries {
		ours[i] = inRoot{e, r, name}
		entries[i] = &ours[i]
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, errors.Join(err, d.Close())
}

// inRoot is an entry whose Info is resolved through its root, like any other
// name.
type inRoot struct {
	fs.DirEntry
	root *Root
	dir  string
}

func (e *inRoot) Info() (fs.FileInfo, error) { return e.root.Lstat(path.Join(e.dir, e.Name())) }

// openDir opens a directory through os.Root. It does not block if the name is a FIFO.
func (r *Root) openDir(name string) (*os.File, error) {
	return r.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|nonblock, 0)
}

// ReadNames lists a directory, sorted, without reading the types of its
// entries. It is several times cheaper than ReadDir.
func (r *Root) ReadNames(name string) ([]string, error) {
	names, err := r.openat2.names(path.Clean(name))
	if ok, err := fastPathResult("openat", name, err); ok {
		slices.Sort(names)
		return names, err
	}
	d, err := r.openDir(path.Clean(name))
	if err != nil {
		return nil, err
	}
	names, err = d.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, d.Close())
}

// SyncDir makes the names in a directory durable. If the file system cannot sync a directory,
// it returns nil and trusts the file system.
func (r *Root) SyncDir(name string) error {
	if ok, err := fastPathResult("sync", name, r.openat2.syncDir(name)); ok {
		return err
	}
	d, err := r.openDir(name)
	if err != nil {
		return err
	}
	err = syncDir(d)
	return errors.Join(err, d.Close())
}

type osFile struct{ *os.File }

func (f osFile) SyncData() error { return syncData(f.File) }

// OSFile returns the *os.File behind a file of a Root, for a child process to inherit. It
// returns nil for a file of another tree.
func OSFile(f File) *os.File {
	if of, ok := f.(osFile); ok {
		return of.File
	}
	return nil
}

// MkdirAll creates a directory and its parents. It is idempotent. New names are durable when it
// returns.
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

// Exists reports whether a name resolves to something inside the root.
func Exists(fsys FS, name string) bool {
	_, err := fsys.Stat(name)
	return err == nil
}
