package filecache

// Looking at many names of one directory: whether what was read of them before
// still holds is one system call for each, instead of a walk from the root.

import (
	"io/fs"
	"strings"

	"ac/internal/durable"
)

// StatFunc looks at a name, links within the workspace followed, and returns the
// version and the type of the file that it leads to. It may be called concurrently.
type StatFunc func(name string) (durable.Version, fs.FileMode, error)

// StatAt looks at any name.
func StatAt(fsys durable.FS) StatFunc {
	return func(name string) (durable.Version, fs.FileMode, error) {
		st, err := fsys.Stat(name)
		if err != nil {
			return durable.Version{}, 0, err
		}
		return durable.VersionOf(st), st.Mode().Type(), nil
	}
}

// statIn looks at an entry of an open directory, and at what lies right in that entry
// where it is a directory itself: no link is on such a way. For all else, and for a link
// at its end, it asks otherwise.
func statIn(d *durable.Dir, entry durable.Entry, otherwise StatFunc) StatFunc {
	at := d.Name() + "/" + entry.Name
	return func(name string) (durable.Version, fs.FileMode, error) {
		if name == at || entry.Type.IsDir() && name[:max(0, strings.LastIndexByte(name, '/'))] == at {
			version, mode, err := d.Look(name[len(d.Name())+1:])
			if mode&fs.ModeSymlink == 0 && (err == nil || durable.Absent(err)) {
				return version, mode, err
			}
		}
		return otherwise(name)
	}
}

// StatEntries opens a directory and returns how to look at each of its entries. Where
// it cannot be opened they are looked at by their names. The caller calls done once all
// have been seen.
func StatEntries(fsys durable.FS, dir string) (of func(durable.Entry) StatFunc, done func()) {
	byName := StatAt(fsys)
	d, err := durable.OpenDir(fsys, dir)
	if err != nil {
		return func(durable.Entry) StatFunc { return byName }, func() {}
	}
	return func(e durable.Entry) StatFunc { return statIn(d, e, byName) }, func() { _ = d.Close() } // only looked at
}
