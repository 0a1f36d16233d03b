package transcript

// Pages of a transcript.

import (
	"cmp"
	"slices"
)

// Query selects a page of a transcript.
type Query struct {
	Since int64    // only items changed after this seq
	Tail  int      // number of newest items, 0 for all
	Limit int      // maximum number of items, 0 for the default
	Kinds []string // empty for all
}

// defaultLimit is the number of items on a page by default.
const defaultLimit = 500

// Page holds items in the order in which they began.
type Page struct {
	Items []*Item `json:"items"`
	// HeadSeq is how far the log was read. NextSeq is the Since of the next page.
	HeadSeq int64 `json:"head_seq"`
	NextSeq int64 `json:"next_seq"`
	Dropped int   `json:"dropped"` // items not on the page: trimmed, of other kinds, or over Tail or Limit
}

// Page copies a part of the transcript. It keeps items that one event changed on the same page,
// so that none is lost between pages. A page may exceed its limit for that.
func (f *Fold) Page(q Query) Page {
	page := Page{Items: []*Item{}, HeadSeq: f.seq, NextSeq: f.seq}
	dropped, last := f.Dropped()
	if last > q.Since {
		page.Dropped = dropped
	}
	var found []*Item
	for _, i := range f.items {
		switch {
		case i.SeqLast <= q.Since:
		case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, i.Kind):
			page.Dropped++
		default:
			found = append(found, i)
		}
	}
	all := len(found)
	if q.Tail > 0 && len(found) > q.Tail {
		found = found[len(found)-q.Tail:]
	}
	if limit := cmp.Or(q.Limit, q.Tail, defaultLimit); len(found) > limit {
		page.NextSeq = cutAt(found, limit)
		found = slices.DeleteFunc(found, func(i *Item) bool { return i.SeqLast > page.NextSeq })
	}
	page.Dropped += all - len(found)
	for _, i := range found {
		page.Items = append(page.Items, i.Snapshot())
	}
	return page
}

// cutAt returns the lowest seq up to which at least n items last changed.
func cutAt(items []*Item, n int) int64 {
	seqs := make([]int64, len(items))
	for i, item := range items {
		seqs[i] = item.SeqLast
	}
	slices.Sort(seqs)
	return seqs[n-1]
}
