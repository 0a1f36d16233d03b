package changes

// Rename detection: which created files are deleted files under another name.

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

const (
	// maxTraced bounds the content compared line by line, in bytes. Beyond it, only identical
	// files are found.
	maxTraced = 8 << 20
	// maxCompared bounds how many pairs of files are compared line by line.
	maxCompared = 20_000
)

// Renames detects files that a run moved. A rename remains one deletion and one creation in the
// list of changes, so that each can be applied alone. Renames only adds the relation between
// them. The zero value is empty. Renames is not safe for concurrent use.
type Renames struct {
	created, deleted []fingerprint
	traced           int
	seed             maphash.Seed
}

// fingerprint is the fingerprint of a file.
type fingerprint struct {
	path  string
	size  int
	whole uint64
	lines map[uint64]int // bytes per line hash; nil if lines are not compared
}

// Note adds a file and its content. It ignores files that were neither created nor deleted.
func (r *Renames) Note(f File, c Content) {
	into, content := &r.created, c.New
	switch {
	case !f.Regular() || c.TooLarge || f.OldMode != "" && f.NewMode != "":
		return
	case f.NewMode == "":
		into, content = &r.deleted, c.From
	}
	if len(content) == 0 { // all empty files are identical
		return
	}
	if r.seed == (maphash.Seed{}) {
		r.seed = maphash.MakeSeed()
	}
	t := fingerprint{path: f.Path, size: len(content), whole: maphash.Bytes(r.seed, content)}
	if r.traced += len(content); r.traced <= maxTraced && bytes.IndexByte(content, 0) < 0 {
		t.lines = map[uint64]int{}
		for line := range bytes.Lines(content) {
			t.lines[maphash.Bytes(r.seed, line)] += len(line)
		}
	}
	*into = append(*into, t)
}

// pair is a created file and a deleted one, with their similarity from 0 to 1.
type pair struct {
	created, deleted string
	similarity       float64
}

// Pairs maps new paths to old ones. Two files form a pair if they are identical, or if the lines
// that both contain make up at least half of the longer file. Each file is in at most one pair.
// The most similar pairs win.
func (r *Renames) Pairs() map[string]string {
	var found []pair
	compared := 0
	for _, made := range r.created {
		for _, gone := range r.deleted {
			compared++
			if likeness := made.similarity(gone, compared <= maxCompared); likeness >= 0.5 {
				found = append(found, pair{made.path, gone.path, likeness})
			}
		}
	}
	slices.SortFunc(found, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.created, b.created), cmp.Compare(a.deleted, b.deleted))
	})
	old, taken := map[string]string{}, map[string]bool{}
	for _, p := range found {
		if _, ok := old[p.created]; !ok && !taken[p.deleted] {
			old[p.created], taken[p.deleted] = p.deleted, true
		}
	}
	return old
}

// similarity returns the share of the longer file that both files contain, from 0 to 1.
func (t fingerprint) similarity(other fingerprint, byLine bool) float64 {
	longer := max(t.size, other.size)
	switch {
	case t.whole == other.whole && t.size == other.size:
		return 1
	case !byLine || t.lines == nil || other.lines == nil || 2*min(t.size, other.size) < longer:
		return 0
	}
	both := 0
	for line, n := range t.lines {
		both += min(n, other.lines[line])
	}
	return float64(both) / float64(longer)
}
