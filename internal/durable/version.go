package durable

import (
	"io/fs"
	"time"
)

// Version is what a cached document is remembered by: it changes whenever the
// file is replaced or written.
type Version struct {
	ID       Identity
	Size     int64
	Modified int64 // nanoseconds
	Changed  int64 // nanoseconds
}

// VersionOf reads the version from a FileInfo of an FS.
func VersionOf(st fs.FileInfo) Version {
	return Version{ID: IdentityOf(st), Size: st.Size(), Modified: st.ModTime().UnixNano(), Changed: changeTime(st)}
}

// How old a file must be before its times can be trusted to tell two writes apart:
// file systems stamp with ticks of up to two seconds, those of today with finer ones.
const (
	Coarse = 2 * time.Second
	fine   = 20 * time.Millisecond
)

// Cacheable reports whether a version of a file in a tree, read now, may be cached.
func (v Version) Cacheable(fsys FS, now time.Time) bool {
	return now.UnixNano()-max(v.Modified, v.Changed) > int64(fsys.Tick(v.ID.Device))
}
