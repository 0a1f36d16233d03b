package workspace

// Looking at many names of one directory: whether what was read of them before
// still holds is one system call for each, instead of a walk from the root.

import (
	"io/fs"
	"strings"

	"ac/internal/durable"
)

// sight tells what a name leads to, links within the workspace followed: its
// version and its type. It may be called side by side.
type sight func(name string) (durable.Version, fs.FileMode, error)

// afar is the sight of any name.
func afar(fsys durable.FS) sight {
	return func(name string) (durable.Version, fs.FileMode, error) {
		st, err := fsys.Stat(name)
		if err != nil {
			return durable.Version{}, 0, err
		}
		return durable.VersionOf(st), st.Mode().Type(), nil
	}
}

// near is the sight of an entry of an open directory, and of what lies right in
// that entry where it is a directory itself: no link is on such a way. All else,
// and a link at its end, is looked at from afar.
func near(d *durable.Dir, entry durable.Entry, afar sight) sight {
	at := d.Name() + "/" + entry.Name
	return func(name string) (durable.Version, fs.FileMode, error) {
		if name == at || entry.Type.IsDir() && name[:max(0, strings.LastIndexByte(name, '/'))] == at {
			version, mode, err := d.Look(name[len(d.Name())+1:])
			if mode&fs.ModeSymlink == 0 && (err == nil || absent(err)) {
				return version, mode, err
			}
		}
		return afar(name)
	}
}

// nearby opens a directory for the sight of its entries. One that cannot be
// opened is looked at from afar. done is to be called once all have been seen.
func nearby(fsys durable.FS, dir string) (from func(durable.Entry) sight, done func()) {
	far := afar(fsys)
	d, err := durable.OpenDir(fsys, dir)
	if err != nil {
		return func(durable.Entry) sight { return far }, func() {}
	}
	return func(e durable.Entry) sight { return near(d, e, far) }, func() { _ = d.Close() } // only looked at
}
