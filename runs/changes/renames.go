package changes

// Which files that a run made are files that it deleted, under another name.

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

const (
	// maxTraced bounds the content that is compared line by line, in bytes; of what comes
	// later only equal files are found.
	maxTraced = 8 << 20
	// maxCompared bounds how many pairs of files are compared line by line.
	maxCompared = 20_000
)

// Renames finds files that a run moved. The rows of changes stay a deletion and a
// creation each, so that every row can be applied alone; a rename is only said beside
// them. The zero value is empty. It is for one goroutine.
type Renames struct {
	made, gone []trace
	traced     int
	seed       maphash.Seed
}

// trace is what a file is recognised by.
type trace struct {
	path  string
	size  int
	whole uint64
	lines map[uint64]int // bytes in lines of one hash; nil where lines are not compared
}

// Note takes a file of the set with its content; only one that was made or deleted counts.
func (r *Renames) Note(f File, c Content) {
	into, content := &r.made, c.New
	switch {
	case !f.Regular() || c.TooLarge || f.OldMode != "" && f.NewMode != "":
		return
	case f.NewMode == "":
		into, content = &r.gone, c.From
	}
	if len(content) == 0 { // empty files are all equal
		return
	}
	if r.seed == (maphash.Seed{}) {
		r.seed = maphash.MakeSeed()
	}
	t := trace{path: f.Path, size: len(content), whole: maphash.Bytes(r.seed, content)}
	if r.traced += len(content); r.traced <= maxTraced && bytes.IndexByte(content, 0) < 0 {
		t.lines = map[uint64]int{}
		for line := range bytes.Lines(content) {
			t.lines[maphash.Bytes(r.seed, line)] += len(line)
		}
	}
	*into = append(*into, t)
}

// pair is a file that was made and one that was deleted, with their likeness from 0 to 1.
type pair struct {
	made, gone string
	likeness   float64
}

// Pairs are the old paths by the new ones: equal files, and those of which at least half
// of the longer one stands in lines that both have. Each file is in one pair at most, the
// likest ones first.
func (r *Renames) Pairs() map[string]string {
	var found []pair
	compared := 0
	for _, made := range r.made {
		for _, gone := range r.gone {
			compared++
			if likeness := made.like(gone, compared <= maxCompared); likeness >= 0.5 {
				found = append(found, pair{made.path, gone.path, likeness})
			}
		}
	}
	slices.SortFunc(found, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.made, b.made), cmp.Compare(a.gone, b.gone))
	})
	old, taken := map[string]string{}, map[string]bool{}
	for _, p := range found {
		if _, ok := old[p.made]; !ok && !taken[p.gone] {
			old[p.made], taken[p.gone] = p.gone, true
		}
	}
	return old
}

// like tells how much of the longer file stands in both, from 0 to 1.
func (t trace) like(other trace, byLine bool) float64 {
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
