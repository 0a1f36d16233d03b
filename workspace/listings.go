package workspace

// Listing directories, with a memory that is only trusted while the directory is
// provably the one that was listed: a name that is added to it, taken from it or
// stands for another file from now on changes its times.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/durable"
)

// listings are the entries of directories; they count by their names.
type listings struct {
	*versions[[]durable.Entry]
}

func newListings() *listings {
	return &listings{newVersions(func(entries []durable.Entry) int { return len(entries) })}
}

// listed gives the entries of a directory, sorted by name; they may be shared and
// are not to be changed. What was remembered counts while see tells the same
// version. With an error come the entries that could be read.
func (l *listings) listed(fsys durable.FS, see statFunc, dir string, now func() time.Time) ([]durable.Entry, error) {
	if version, mode, err := see(dir); err == nil && mode.IsDir() {
		if entries, ok := l.get(dir, version); ok {
			return entries, nil
		}
	}
	began := now()
	version, entries, err := readListing(fsys, dir)
	if err == nil && version.Settled(fsys, began) && version.ID != (durable.Identity{}) { // else another directory could be taken for it
		l.put(dir, version, entries)
	}
	return entries, err
}

// readListing lists a directory. The version is that of before.
func readListing(fsys durable.FS, dir string) (version durable.Version, entries []durable.Entry, err error) {
	d, err := durable.OpenDir(fsys, dir)
	if err != nil {
		return version, nil, err
	}
	defer d.Close()
	if version, err = d.Version(); err != nil {
		return version, nil, err
	}
	entries, err = d.Entries()
	slices.SortFunc(entries, func(a, b durable.Entry) int { return strings.Compare(a.Name, b.Name) })
	return version, entries, err
}
