package filecache

// Checking many names of one directory: one system call for each cached
// document, relative to the open directory, instead of a walk from the root.

import (
	"io/fs"
	"strings"

	"ac/internal/durable"
)

// StatFunc returns the version and type of the file that a name resolves to,
// following symlinks within the workspace. It may be called concurrently.
type StatFunc func(name string) (durable.Version, fs.FileMode, error)

// StatAt stats any name.
func StatAt(fsys durable.FS) StatFunc {
	return func(name string) (durable.Version, fs.FileMode, error) {
		st, err := fsys.Stat(name)
		if err != nil {
			return durable.Version{}, 0, err
		}
		return durable.VersionOf(st), st.Mode().Type(), nil
	}
}

// statIn stats an entry of an open directory, and the names directly in that entry if it is a
// directory: there is no symlink on such a path. It passes everything else, and a symlink at
// the end, to otherwise.
func statIn(d *durable.Dir, entry durable.Entry, otherwise StatFunc) StatFunc {
	at := d.Name() + "/" + entry.Name
	return func(name string) (durable.Version, fs.FileMode, error) {
		if name == at || entry.Type.IsDir() && name[:max(0, strings.LastIndexByte(name, '/'))] == at {
			version, mode, err := d.Lstat(name[len(d.Name())+1:])
			if mode&fs.ModeSymlink == 0 && (err == nil || durable.IsAbsent(err)) {
				return version, mode, err
			}
		}
		return otherwise(name)
	}
}

// StatEntries opens a directory and returns a StatFunc for each of its entries. If the
// directory cannot be opened, each name is resolved from the root. The caller must call done
// afterwards.
func StatEntries(fsys durable.FS, dir string) (of func(durable.Entry) StatFunc, done func()) {
	byName := StatAt(fsys)
	d, err := durable.OpenDir(fsys, dir)
	if err != nil {
		return func(durable.Entry) StatFunc { return byName }, func() {}
	}
	return func(e durable.Entry) StatFunc { return statIn(d, e, byName) }, func() { _ = d.Close() } // opened for reading only
}
