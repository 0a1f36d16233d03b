package index

// The state of each source file: enough to decide whether to read it again, and from which
// offset.

import (
	"encoding/binary"
	"errors"

	"ac/index/source"
	"ac/internal/durable"
)

// file is the state of a source file as of its last read. Its version is comparable only with
// those from durable.Dir.
type file struct {
	id      int64
	kind    source.Kind
	path    string
	project string
	version durable.Version
	// maybeStale: the file was so recent when it was read that a later write may have left the
	// same times.
	maybeStale bool
	// claim is the key that the document claims, "" if the document is invalid.
	claim string
	// hasRows: the rows of the claimed key come from this file.
	hasRows bool
	sum     uint64 // hash of the text, compared when the version is inconclusive
	problem string
	what    string
	log     source.LogState
	seen    uint64 // the last pass that saw it
}

const (
	flagMaybeStale = 1 << iota
	flagHasRows
	flagTailEvent
)

var errState = errors.New("the index holds a file state that cannot be read")

func (f *file) encode() []byte {
	b := make([]byte, 0, 96+len(f.claim))
	flags := uint64(0)
	for flag, set := range map[uint64]bool{flagMaybeStale: f.maybeStale, flagHasRows: f.hasRows, flagTailEvent: f.log.TailEvent} {
		if set {
			flags |= flag
		}
	}
	for _, n := range []uint64{
		uint64(f.kind), flags, f.version.ID.Device, f.version.ID.Inode, uint64(f.version.Size), uint64(f.version.Modified), uint64(f.version.Changed),
		f.sum, uint64(f.log.Offset), uint64(f.log.Seq), f.log.Head, f.log.Tail, uint64(f.log.Sum),
	} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range []string{f.project, f.claim, string(f.log.Settled)} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

func (f *file) decode(b []byte) error {
	var kindOf, flags, size, modified, changed, offset, seq, sum uint64
	for _, n := range []*uint64{
		&kindOf, &flags, &f.version.ID.Device, &f.version.ID.Inode, &size, &modified, &changed,
		&f.sum, &offset, &seq, &f.log.Head, &f.log.Tail, &sum,
	} {
		v, width := binary.Uvarint(b)
		if width <= 0 {
			return errState
		}
		*n, b = v, b[width:]
	}
	f.kind, f.version.Size, f.version.Modified, f.version.Changed = source.Kind(kindOf), int64(size), int64(modified), int64(changed)
	f.log.Offset, f.log.Seq, f.log.Sum = int64(offset), int64(seq), uint32(sum)
	f.maybeStale, f.hasRows, f.log.TailEvent = flags&flagMaybeStale != 0, flags&flagHasRows != 0, flags&flagTailEvent != 0
	var settled string
	for _, text := range []*string{&f.project, &f.claim, &settled} {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > uint64(len(b)-width) {
			return errState
		}
		*text, b = string(b[width:width+int(n)]), b[width+int(n):]
	}
	if settled != "" {
		f.log.Settled = []byte(settled)
	}
	return nil
}

// fileStates has the file states of one generation of the index. The holder of the index lock owns
// it.
type fileStates struct {
	generation int64
	byPath     map[string]*file
	claims     map[string][]*file // all files that claim each key
	nextFile   int64
	passes     uint64
	stats      *Stats // cached, without the sums over runs
}

func newFileStates() *fileStates {
	return &fileStates{byPath: map[string]*file{}, claims: map[string][]*file{}, nextFile: 1}
}

func (k *fileStates) add(f *file) {
	k.byPath[f.path] = f
	k.nextFile = max(k.nextFile, f.id+1)
	if f.claim != "" {
		k.claims[f.claim] = append(k.claims[f.claim], f)
	}
}

// claim changes the key that a file claims.
func (k *fileStates) claim(f *file, claim string) {
	if f.claim == claim {
		return
	}
	if f.claim != "" {
		left := k.claims[f.claim][:0]
		for _, other := range k.claims[f.claim] {
			if other != f {
				left = append(left, other)
			}
		}
		if k.claims[f.claim] = left; len(left) == 0 {
			delete(k.claims, f.claim)
		}
	}
	if f.claim = claim; claim != "" {
		k.claims[claim] = append(k.claims[claim], f)
	}
}

// holder returns the file whose rows represent a key, nil if there is none.
func (k *fileStates) holder(claim string) *file {
	for _, f := range k.claims[claim] {
		if f.hasRows {
			return f
		}
	}
	return nil
}

func (k *fileStates) forget(f *file) {
	k.claim(f, "")
	delete(k.byPath, f.path)
}
