package index

// Detecting that nothing changed since the last sync, for processes that read the index once. A
// walk and one hash decide it, without loading the state of each file from the index.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"

	"ac/index/source"
	"ac/internal/durable"
)

// digestOf hashes all sources with their versions, and the generation of the index that
// reflects them.
func digestOf(generation int64, sources []source.File) string {
	sum := sha256.New()
	lines := make([]byte, 0, hashedAtOnce)
	for _, s := range sources {
		if len(lines) > hashedAtOnce-len(s.Path)-6*8 {
			sum.Write(lines)
			lines = lines[:0]
		}
		lines = append(lines, s.Path...)
		for _, n := range []int64{int64(s.Kind), int64(s.Version.ID.Device), int64(s.Version.ID.Inode), s.Version.Size, s.Version.Modified, s.Version.Changed} { //nolint:gosec // bits
			lines = binary.BigEndian.AppendUint64(lines, uint64(n)) //nolint:gosec // bits
		}
	}
	sum.Write(lines)
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(generation))) //nolint:gosec // bits
	return hex.EncodeToString(sum.Sum(nil))
}

// hashedAtOnce is the number of bytes that are hashed per call.
const hashedAtOnce = 16 << 10

// listSources walks the whole workspace and returns its sources.
func (ix *Index) listSources(ctx context.Context) (sources []source.File, err error) {
	list := source.Walk{FS: ix.w.FS, Found: func(s source.File) { sources = append(sources, s) }}
	if err := list.Run(); err != nil {
		return nil, err
	}
	return sources, context.Cause(ctx)
}

// unchanged reports whether the last sync of any process saw exactly these sources, and none of
// them could have changed unnoticed.
func (ix *Index) unchanged(generation int64, sources []source.File) bool {
	return ix.readDigests().all == digestOf(generation, sources)
}

// digests are the hashes of what a sync saw: of all sources, and of the run records only. An
// empty hash matches nothing: some of its files may have changed unnoticed.
type digests struct{ all, records string }

// digestSize is the length of a hash in the file, in bytes.
const digestSize = 2 * sha256.Size

// readDigests returns the digests that the last sync of any process stored. A torn file yields empty
// ones.
func (ix *Index) readDigests() (d digests) {
	text, err := durable.ReadFile(ix.w.FS, syncedFile, 2*digestSize+1)
	if all, records, whole := strings.Cut(string(text), "\n"); err == nil && whole {
		d = digests{all, records}
	}
	return d
}

// noteSources stores the digests of what a pass saw, in the file that has the time of the sync.
// Like noteSync it is best effort.
func (ix *Index) noteSources(k *fileStates, sources []source.File) {
	var seen digests
	if sources != nil {
		seen = digestsOf(k, sources)
	}
	f, err := ix.w.FS.OpenFile(syncedFile, os.O_RDWR, 0o644)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }() // best effort: a lost digest only costs a full comparison
	text := seen.all + "\n" + seen.records
	if was, err := io.ReadAll(io.NewSectionReader(f, 0, 2*digestSize+1)); err == nil && string(was) == text {
		return
	}
	if f.Truncate(0) == nil {
		_, _ = f.Write([]byte(text)) // a torn digest matches nothing
	}
}

func digestsOf(k *fileStates, sources []source.File) digests {
	seen := digests{all: digestOf(k.generation, sources)}
	records := slices.DeleteFunc(slices.Clone(sources), func(s source.File) bool { return s.Kind != source.KindRun })
	seen.records = digestOf(k.generation, records)
	for _, f := range k.byPath {
		if f.maybeStale {
			seen.all = ""
			if f.kind == source.KindRun {
				seen.records = ""
			}
		}
	}
	return seen
}
