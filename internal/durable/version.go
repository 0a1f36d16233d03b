package durable

import (
	"io/fs"
	"time"
)

// Version is the cache key of a file: it changes whenever the file is replaced
// or written.
type Version struct {
	ID       Identity
	Size     int64
	Modified int64 // nanoseconds
	Changed  int64 // nanoseconds
}

// VersionOf returns the version of a file, from a FileInfo of an FS.
func VersionOf(st fs.FileInfo) Version {
	return Version{ID: IdentityOf(st), Size: st.Size(), Modified: st.ModTime().UnixNano(), Changed: changeTime(st)}
}

// The timestamp granularity of file systems: Coarse for the coarsest, fine for current ones. A
// file must be older than that before its times can distinguish two writes.
const (
	Coarse = 2 * time.Second
	fine   = 20 * time.Millisecond
)

// Cacheable reports whether a version that was read at now may be cached: a later write is
// certain to change it.
func (v Version) Cacheable(fsys FS, now time.Time) bool {
	return now.UnixNano()-max(v.Modified, v.Changed) > int64(fsys.Granularity(v.ID.Device))
}
