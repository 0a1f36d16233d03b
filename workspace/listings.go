package workspace

// Directory listings, through a cache that is trusted only while the directory
// is provably unchanged: adding, removing or replacing a name changes its
// times.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/durable"
)

// listings caches the entries of directories; its bound counts names.
type listings struct {
	*versions[[]durable.Entry]
}

func newListings() *listings {
	return &listings{newVersions(func(entries []durable.Entry) int { return len(entries) })}
}

// listed returns the entries of a directory, sorted by name. They may be shared
// and must not be changed. The cached ones are valid while see returns the same
// version. An error comes with the entries that could be read.
func (l *listings) listed(fsys durable.FS, see statFunc, dir string, now func() time.Time) ([]durable.Entry, error) {
	if version, mode, err := see(dir); err == nil && mode.IsDir() {
		if entries, ok := l.get(dir, version); ok {
			return entries, nil
		}
	}
	began := now()
	version, entries, err := readListing(fsys, dir)
	if err == nil && version.Settled(fsys, began) && version.ID != (durable.Identity{}) { // without an identity, another directory could pass for it
		l.put(dir, version, entries)
	}
	return entries, err
}

// readListing lists a directory. The version was taken before the listing.
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
