package durable

// Path resolution below a root in one system call. os.Root walks a path
// component by component, with an open and a close for each. openat2(2) with
// RESOLVE_BENEATH applies the same rules in the kernel and so prevents path
// traversal in one step. Anything the kernel does not simply answer (no such
// call, a symlink that leaves the root, a race with a rename) falls back to
// os.Root, which decides.

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// openat2Root is the fast path into a root. It is safe for concurrent use.
type openat2Root struct {
	dir         *os.File
	conn        syscall.RawConn
	unsupported atomic.Bool // the kernel, or a seccomp filter, refuses the call
}

// openOpenat2 prepares the fast path into a root. It returns nil if it cannot.
func openOpenat2(root *os.Root) *openat2Root {
	dir, err := root.Open(".")
	if err != nil {
		return nil
	}
	conn, err := dir.SyscallConn()
	if err != nil {
		_ = dir.Close() // opened for reading only
		return nil
	}
	return &openat2Root{dir: dir, conn: conn}
}

func (b *openat2Root) close() error {
	if b == nil {
		return nil
	}
	return b.dir.Close()
}

// errFallback means that os.Root must resolve the name.
var errFallback = errors.New("not supported by the kernel")

// open opens a name. A missing name returns ENOENT; every other failure is
// errFallback.
func (b *openat2Root) open(name string, flag int, perm fs.FileMode) (fd int, err error) {
	if b == nil || b.unsupported.Load() || !fs.ValidPath(name) || perm&^fs.ModePerm != 0 {
		return -1, errFallback
	}
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS} //nolint:gosec // flags are no negative number
	if flag&os.O_CREATE != 0 {
		how.Mode = uint64(perm)
	}
	if failed := b.conn.Control(func(root uintptr) {
		for {
			if fd, err = unix.Openat2(int(root), name, &how); err != unix.EINTR { // a bare errno
				return
			}
		}
	}); failed != nil {
		return -1, errFallback // closed: os.Root reports it
	}
	switch err { // a bare errno
	case nil:
		return fd, nil
	case unix.ENOENT:
		return -1, err
	case unix.ENOSYS:
		b.unsupported.Store(true)
	}
	return -1, errFallback
}

// withOpen opens a name, passes the descriptor to one call, and closes it.
func (b *openat2Root) withOpen(name string, flag int, use func(fd int) error) error {
	fd, err := b.open(name, flag, 0)
	if err != nil {
		return err
	}
	for {
		if err = use(fd); err != unix.EINTR { //nolint:errorlint // a bare errno
			break
		}
	}
	_ = unix.Close(fd) // nothing was written through it
	return err
}

// stat describes a name.
func (b *openat2Root) stat(name string, follow bool) (fs.FileInfo, error) {
	flag := unix.O_PATH
	if !follow {
		flag |= unix.O_NOFOLLOW
	}
	st := &fileStat{name: path.Base(name)}
	if err := b.withOpen(name, flag, func(fd int) error { return syscall.Fstat(fd, &st.sys) }); err != nil {
		return nil, err
	}
	return st, nil
}

// regular rejects descriptors of anything but regular files.
func regular(fd int, st *syscall.Stat_t) error {
	for {
		err := syscall.Fstat(fd, st)
		if err == syscall.EINTR { // a bare errno
			continue
		}
		if err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFREG {
			return ErrIrregular
		}
		return err
	}
}

// openFile opens a regular file.
func (b *openat2Root) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := b.open(name, flag|nonblock, perm)
	if err != nil {
		return nil, err
	}
	if err := regular(fd, new(syscall.Stat_t)); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), b.dir.Name()+"/"+name), nil
}

// readFile reads a whole regular file and returns its FileInfo as of the start
// of the read.
func (b *openat2Root) readFile(name string, limit int64) ([]byte, fs.FileInfo, error) {
	fd, err := b.open(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written through it
	st := &fileStat{name: path.Base(name)}
	if err := regular(fd, &st.sys); err != nil {
		return nil, nil, err
	}
	content, err := readAll(name, st.Size(), limit, descriptor(fd))
	return content, st, err
}

// descriptor reads from an open file.
type descriptor int

func (d descriptor) Read(b []byte) (n int, err error) {
	for {
		if n, err = unix.Read(int(d), b); err == unix.EINTR { // a bare errno
			continue
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		return max(n, 0), err
	}
}

// names lists a directory.
func (b *openat2Root) names(name string) ([]string, error) {
	dir, err := b.openDir(name)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// openDir opens a directory.
func (b *openat2Root) openDir(name string) (*os.File, error) {
	fd, err := b.open(name, unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), b.dir.Name()+"/"+name), nil
}

// syncDir makes the names in a directory durable.
func (b *openat2Root) syncDir(name string) error {
	return b.withOpen(name, unix.O_DIRECTORY, func(fd int) error { return ignoreSyncUnsupported(unix.Fsync(fd)) })
}

// withParent opens the parent directory of a name for one call on the last component. If it cannot
// open it, the error is errFallback.
func (b *openat2Root) withParent(name string, call func(dir int, base string) error) error {
	if name == "." || !fs.ValidPath(name) {
		return errFallback
	}
	dir, err := b.open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return errFallback
	}
	for {
		if err = call(dir, path.Base(name)); err != unix.EINTR { //nolint:errorlint // a bare errno
			break
		}
	}
	_ = unix.Close(dir) // names are made durable by syncDir
	return err
}

func (b *openat2Root) mkdir(name string, perm fs.FileMode) error {
	if perm&^fs.ModePerm != 0 {
		return errFallback
	}
	return b.withParent(name, func(dir int, base string) error { return unix.Mkdirat(dir, base, uint32(perm)) })
}

// unlink removes a name that is not a directory. Every failure but ENOENT is
// errFallback.
func (b *openat2Root) unlink(name string) error {
	err := b.withParent(name, func(dir int, base string) error { return unix.Unlinkat(dir, base, 0) })
	if err != nil && err != unix.ENOENT { //nolint:errorlint // a bare errno
		return errFallback
	}
	return err
}

// rename replaces a file at the new name. It leaves the case that the new name is a directory
// to os.Root, which refuses to replace it.
func (b *openat2Root) rename(from, to string) error {
	return b.withParents(from, to, func(fromDir int, from string, toDir int, to string) error {
		var st unix.Stat_t
		if err := unix.Fstatat(toDir, to, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			return errFallback
		}
		return unix.Renameat(fromDir, from, toDir, to)
	})
}

func (b *openat2Root) link(from, to string) error {
	return b.withParents(from, to, func(fromDir int, from string, toDir int, to string) error {
		return unix.Linkat(fromDir, from, toDir, to, 0)
	})
}

// withParents opens the parent directories of two names for one call on the last
// components.
func (b *openat2Root) withParents(from, to string, call func(fromDir int, from string, toDir int, to string) error) error {
	if to == "." || !fs.ValidPath(to) {
		return errFallback
	}
	return b.withParent(from, func(fromDir int, fromBase string) error {
		if path.Dir(from) == path.Dir(to) {
			return call(fromDir, fromBase, fromDir, path.Base(to))
		}
		return b.withParent(to, func(toDir int, toBase string) error { return call(fromDir, fromBase, toDir, toBase) })
	})
}
