package index

// What the index knows of each source file: enough to tell whether it has to be
// read again, and from where.

import (
	"encoding/binary"
	"errors"

	"ac/internal/durable"
)

// kind is what a source file is.
type kind uint8

const (
	kindRun kind = iota + 1
	kindLog
	kindArtifact
	kindReview
	kindHelpRequest
	kindConversation
	kindMessages
	kindTask
	kindAgent
	kindComment
)

// file is a source file as it was when it was last read. The version may be
// compared with those of durable.Dir only.
type file struct {
	id      int64
	kind    kind
	path    string
	project string
	version durable.Version
	// maybeStale: the file was so fresh when it was read that a later write may have
	// left its times as they are.
	maybeStale bool
	// claim is the key that the document asks for, "" when it does not fit.
	claim string
	// shown: the rows of the claim come from this file.
	shown   bool
	sum     uint64 // of a document that may be stale's text
	problem string
	what    string
	log     logState
	seen    uint64 // the pass that saw it last
}

// logState is how far a log was read.
type logState struct {
	offset int64  // behind the last complete line
	seq    int64  // counted lines before the offset
	head   uint64 // hash of the first line
	tail   uint64 // hash of the last bytes before the offset
	sum    uint32 // CRC of everything before the offset
	// tailEvent: a line without LF stands behind the offset and was taken for an
	// event; settled are the stats of the run without it.
	tailEvent bool
	settled   []byte
}

const (
	flagMaybeStale = 1 << iota
	flagShown
	flagTailEvent
)

var errState = errors.New("the index holds a file state that cannot be read")

func (f *file) encode() []byte {
	b := make([]byte, 0, 96+len(f.claim))
	flags := uint64(0)
	for flag, set := range map[uint64]bool{flagMaybeStale: f.maybeStale, flagShown: f.shown, flagTailEvent: f.log.tailEvent} {
		if set {
			flags |= flag
		}
	}
	for _, n := range []uint64{
		uint64(f.kind), flags, f.version.ID.Device, f.version.ID.Inode, uint64(f.version.Size), uint64(f.version.Modified), uint64(f.version.Changed),
		f.sum, uint64(f.log.offset), uint64(f.log.seq), f.log.head, f.log.tail, uint64(f.log.sum),
	} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range []string{f.project, f.claim, string(f.log.settled)} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

func (f *file) decode(b []byte) error {
	var kindOf, flags, size, modified, changed, offset, seq, sum uint64
	for _, n := range []*uint64{
		&kindOf, &flags, &f.version.ID.Device, &f.version.ID.Inode, &size, &modified, &changed,
		&f.sum, &offset, &seq, &f.log.head, &f.log.tail, &sum,
	} {
		v, width := binary.Uvarint(b)
		if width <= 0 {
			return errState
		}
		*n, b = v, b[width:]
	}
	f.kind, f.version.Size, f.version.Modified, f.version.Changed = kind(kindOf), int64(size), int64(modified), int64(changed)
	f.log.offset, f.log.seq, f.log.sum = int64(offset), int64(seq), uint32(sum)
	f.maybeStale, f.shown, f.log.tailEvent = flags&flagMaybeStale != 0, flags&flagShown != 0, flags&flagTailEvent != 0
	var settled string
	for _, text := range []*string{&f.project, &f.claim, &settled} {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > uint64(len(b)-width) {
			return errState
		}
		*text, b = string(b[width:width+int(n)]), b[width+int(n):]
	}
	if settled != "" {
		f.log.settled = []byte(settled)
	}
	return nil
}

// known is the files of an index, as one generation of it has them. It belongs
// to whoever holds the lock of the index.
type known struct {
	generation int64
	byPath     map[string]*file
	claims     map[string][]*file // every file that asks for a key
	nextFile   int64
	passes     uint64
	stats      *Stats // of this generation, once somebody asked; without the sums over runs
}

func newKnown() *known {
	return &known{byPath: map[string]*file{}, claims: map[string][]*file{}, nextFile: 1}
}

func (k *known) add(f *file) {
	k.byPath[f.path] = f
	k.nextFile = max(k.nextFile, f.id+1)
	if f.claim != "" {
		k.claims[f.claim] = append(k.claims[f.claim], f)
	}
}

// claim changes the key that a file asks for.
func (k *known) claim(f *file, claim string) {
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

// holder is the file whose rows stand for a key, nil when there is none.
func (k *known) holder(claim string) *file {
	for _, f := range k.claims[claim] {
		if f.shown {
			return f
		}
	}
	return nil
}

func (k *known) forget(f *file) {
	k.claim(f, "")
	delete(k.byPath, f.path)
}
