package filecache

// Listing directories, with a memory that is only trusted while the directory is
// provably the one that was listed: a name that is added to it, taken from it or
// stands for another file from now on changes its times.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/durable"
)

// Listings are the entries of directories; they count by their names.
type Listings struct {
	cache *Cache[[]durable.Entry]
}

// NewListings remembers nothing yet.
func NewListings() *Listings {
	return &Listings{New(func(entries []durable.Entry) int { return len(entries) })}
}

// List returns the entries of a directory, sorted by name; they may be shared and
// are not to be changed. What was remembered counts while see reports the
// same version. With an error come the entries that could be read.
func (l *Listings) List(fsys durable.FS, see StatFunc, dir string, now func() time.Time) ([]durable.Entry, error) {
	if version, mode, err := see(dir); err == nil && mode.IsDir() {
		if entries, ok := l.cache.Get(dir, version); ok {
			return entries, nil
		}
	}
	began := now()
	version, entries, err := ReadDir(fsys, dir)
	if err == nil && version.Cacheable(fsys, began) && version.ID != (durable.Identity{}) { // else another directory could be taken for it
		l.cache.Put(dir, version, entries)
	}
	return entries, err
}

// ReadDir lists a directory, sorted by name. The version is that of before.
func ReadDir(fsys durable.FS, dir string) (version durable.Version, entries []durable.Entry, err error) {
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
