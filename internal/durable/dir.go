package durable

// Inspecting many files of one directory: one system call per file, relative to the open
// directory, instead of a walk from the root for each.

import (
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Entry is a directory entry: its name and type.
type Entry struct {
	Name string
	Type fs.FileMode // the bits of fs.ModeType
}

// Dir is an open directory. Symlinks below it are never followed. It is safe
// for concurrent use.
type Dir struct {
	fsys FS
	name string
	file *os.File // nil where files are reached through fsys
}

// OpenDir opens a directory of a tree.
func OpenDir(fsys FS, name string) (*Dir, error) {
	root, ok := fsys.(*Root)
	if !ok || !relativeCalls {
		return subByName(fsys, name)
	}
	openat2, err := root.openat2.openDir(name)
	if ok, err := fastPathResult("openat", name, err); ok {
		if err != nil {
			return nil, err
		}
		return &Dir{fsys: fsys, name: name, file: openat2}, nil
	}
	file, err := root.openDir(name)
	if err != nil {
		return nil, err
	}
	d, err := checked(&Dir{fsys: fsys, name: name, file: file})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	// For a directory opened through os.Root, ReadDir stats every entry. A
	// descriptor reopened from it does not.
	again, err := d.Sub(".")
	if err != nil {
		return nil, err
	}
	again.name = name
	return again, nil
}

// checked closes d and fails unless it is a directory.
func checked(d *Dir) (*Dir, error) {
	st, err := d.file.Stat()
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "open", Path: d.name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		_ = d.file.Close() // opened for reading only
		return nil, err
	}
	return d, nil
}

func subByName(fsys FS, name string) (*Dir, error) {
	st, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOTDIR}
	}
	return &Dir{fsys: fsys, name: name}, nil
}

// Name returns the path of the directory in its tree.
func (d *Dir) Name() string { return d.name }

// Close releases the directory.
func (d *Dir) Close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}

// Version returns the version of the directory itself.
func (d *Dir) Version() (Version, error) {
	var st fs.FileInfo
	var err error
	if d.file == nil {
		st, err = d.fsys.Stat(d.name)
	} else {
		st, err = d.file.Stat()
	}
	if err != nil {
		return Version{}, err
	}
	return VersionOf(st), nil
}

// Entries lists the directory, in the order in which the system returns it.
func (d *Dir) Entries() ([]Entry, error) {
	if d.file == nil {
		list, err := d.fsys.ReadDir(d.name)
		return entries(list), err
	}
	list, err := d.file.ReadDir(-1)
	return entries(list), err
}

func entries(list []fs.DirEntry) []Entry {
	found := make([]Entry, len(list))
	for i, e := range list {
		found[i] = Entry{e.Name(), e.Type()}
	}
	return found
}

// Lstat returns the version and the type of an entry, without following
// symlinks.
func (d *Dir) Lstat(name string) (Version, fs.FileMode, error) {
	if d.file == nil {
		st, err := d.fsys.Lstat(path.Join(d.name, name))
		if err != nil {
			return Version{}, 0, err
		}
		return VersionOf(st), st.Mode().Type(), nil
	}
	return d.lstatAt(name)
}

// LstatEach is Lstat for many entries. It calls seen for each entry that exists, with its index
// in names. One descriptor serves all of them, so that each costs only one system call.
func (d *Dir) LstatEach(names []string, seen func(i int, v Version, kind fs.FileMode)) {
	if d.file != nil {
		d.lstatEachAt(names, seen)
		return
	}
	for i, name := range names {
		if v, kind, err := d.Lstat(name); err == nil {
			seen(i, v, kind)
		}
	}
}

// Sub opens a subdirectory. A symlink is an error.
func (d *Dir) Sub(name string) (*Dir, error) {
	if d.file == nil {
		st, err := d.fsys.Lstat(path.Join(d.name, name))
		if err == nil && !st.IsDir() {
			err = &fs.PathError{Op: "open", Path: path.Join(d.name, name), Err: syscall.ENOTDIR}
		}
		return &Dir{fsys: d.fsys, name: path.Join(d.name, name)}, err
	}
	return d.subAt(name)
}

// Open opens a regular file in the directory for reading. A symlink is an
// error.
func (d *Dir) Open(name string) (File, error) {
	if d.file == nil {
		st, err := d.fsys.Lstat(path.Join(d.name, name))
		if err == nil && !st.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: path.Join(d.name, name), Err: ErrIrregular}
		}
		if err != nil {
			return nil, err
		}
		return d.fsys.OpenFile(path.Join(d.name, name), os.O_RDONLY, 0)
	}
	return d.openAt(name)
}

// LinksTo reports whether an entry of a directory is a symlink to a file of
// this type inside the tree.
func LinksTo(fsys FS, dir string, e Entry, kind fs.FileMode) bool {
	if e.Type&fs.ModeSymlink == 0 {
		return false
	}
	st, err := fsys.Stat(path.Join(dir, e.Name))
	return err == nil && st.Mode().Type() == kind
}
