//go:build unix

package durable

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const relativeCalls = true

// control passes the descriptor of the directory to one call, and retries the call on EINTR.
func (d *Dir) control(call func(fd int) error) (err error) {
	conn, err := d.file.SyscallConn()
	if err != nil {
		return err
	}
	if failed := conn.Control(func(fd uintptr) {
		for {
			if err = call(int(fd)); err != unix.EINTR { //nolint:errorlint // a bare errno
				return
			}
		}
	}); failed != nil {
		return failed
	}
	return err
}

func (d *Dir) lstatAt(name string) (v Version, kind fs.FileMode, err error) {
	var st unix.Stat_t
	if err := d.control(func(fd int) error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return v, 0, &fs.PathError{Op: "fstatat", Path: path.Join(d.name, name), Err: err}
	}
	v, kind = versionOfStat(&st)
	return v, kind, nil
}

func (d *Dir) lstatEachAt(names []string, seen func(i int, v Version, kind fs.FileMode)) {
	var st unix.Stat_t
	_ = d.control(func(fd int) error { // a closed directory has no entries
		for i, name := range names {
			err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			for err == unix.EINTR {
				err = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			}
			if err == nil {
				v, kind := versionOfStat(&st)
				seen(i, v, kind)
			}
		}
		return nil
	})
}

// versionOfStat converts the result of a stat to a version and a type.
func versionOfStat(st *unix.Stat_t) (v Version, kind fs.FileMode) {
	v = Version{
		ID:   Identity{Device: uint64(st.Dev), Inode: uint64(st.Ino)}, //nolint:unconvert // the widths differ between systems
		Size: st.Size, Modified: st.Mtim.Nano(), Changed: st.Ctim.Nano(),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		kind = fs.ModeDir
	case unix.S_IFLNK:
		kind = fs.ModeSymlink
	default:
		kind = fs.ModeIrregular
	}
	return v, kind
}

func (d *Dir) subAt(name string) (*Dir, error) {
	file, err := d.openFile(name, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return &Dir{fsys: d.fsys, name: path.Join(d.name, name), file: file}, nil
}

func (d *Dir) openAt(name string) (File, error) {
	file, err := d.openFile(name, unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path.Join(d.name, name), Err: ErrIrregular}
	}
	if err != nil {
		_ = file.Close() // opened for reading only
		return nil, err
	}
	return osFile{file}, nil
}

func (d *Dir) openFile(name string, flag int) (*os.File, error) {
	opened := -1
	if err := d.control(func(fd int) (err error) {
		opened, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flag, 0)
		return err
	}); err != nil {
		return nil, &fs.PathError{Op: "openat", Path: path.Join(d.name, name), Err: err}
	}
	return os.NewFile(uintptr(opened), path.Join(d.name, name)), nil
}
