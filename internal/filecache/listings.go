package filecache

// Directory listings, through a cache that is trusted only while the directory
// is provably unchanged: adding, removing or replacing a name changes its
// times.

import (
	"slices"
	"strings"
	"time"

	"ac/internal/durable"
)

// Listings caches the entries of directories; its bound counts names.
type Listings struct {
	cache *Cache[[]durable.Entry]
}

// NewListings returns an empty cache.
func NewListings() *Listings {
	return &Listings{New(func(entries []durable.Entry) int { return len(entries) })}
}

// List returns the entries of a directory, sorted by name. They may be shared and must not be
// changed. Cached entries are valid while see returns the same version. With an error List also
// returns the entries that it could read.
func (l *Listings) List(fsys durable.FS, see StatFunc, dir string, now func() time.Time) ([]durable.Entry, error) {
	if version, mode, err := see(dir); err == nil && mode.IsDir() {
		if entries, ok := l.cache.Get(dir, version); ok {
			return entries, nil
		}
	}
	began := now()
	version, entries, err := ReadDir(fsys, dir)
	if err == nil && version.Cacheable(fsys, began) && version.ID != (durable.Identity{}) { // without an identity, another directory could pass for it
		l.cache.Put(dir, version, entries)
	}
	return entries, err
}

// ReadDir lists a directory, sorted by name. It reads the version before it lists.
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
