package index

// Whether anything changed since the last sync, for processes that read the index once:
// the walk and one hash say so, without what the index knows of each file.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"

	"ac/internal/durable"
)

// digestOf is a hash of all sources with their versions, and of the generation of the
// index that reflects them.
func digestOf(generation int64, sources []source) string {
	sum := sha256.New()
	var line []byte
	for _, s := range sources {
		line = append(line[:0], s.path...)
		for _, n := range []int64{int64(s.kind), int64(s.version.ID.Device), int64(s.version.ID.Inode), s.version.Size, s.version.Modified, s.version.Changed} { //nolint:gosec // bits
			line = binary.BigEndian.AppendUint64(line, uint64(n)) //nolint:gosec // bits
		}
		sum.Write(line)
	}
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(generation))) //nolint:gosec // bits
	return hex.EncodeToString(sum.Sum(nil))
}

// listed walks the whole workspace.
func (ix *Index) listed(ctx context.Context) (sources []source, err error) {
	list := walk{fsys: ix.w.FS, found: func(s source) { sources = append(sources, s) }}
	if err := list.run(); err != nil {
		return nil, err
	}
	return sources, context.Cause(ctx)
}

// unchanged reports whether the last sync of any process saw just these sources, and none
// of them could have changed unnoticed.
func (ix *Index) unchanged(generation int64, sources []source) bool {
	text, err := durable.ReadFile(ix.w.FS, syncedFile, sha256.Size*2)
	return err == nil && len(text) > 0 && string(text) == digestOf(generation, sources)
}

// noteSources keeps the hash of what a pass saw beside the time of the sync. Where a file
// may change unnoticed there is none. Best effort, as the time.
func (ix *Index) noteSources(k *known, sources []source) {
	digest := ""
	if sources != nil {
		digest = digestOf(k.generation, sources)
		for _, f := range k.byPath {
			if f.maybeStale {
				digest = ""
				break
			}
		}
	}
	f, err := ix.w.FS.OpenFile(syncedFile, os.O_RDWR, 0o644)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // the digest is checked against the files
	if was, err := io.ReadAll(io.NewSectionReader(f, 0, sha256.Size*2)); err == nil && string(was) == digest {
		return
	}
	if f.Truncate(0) == nil {
		_, _ = f.Write([]byte(digest)) // a torn one equals none
	}
}
