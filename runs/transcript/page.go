package transcript

// A part of a transcript, as it is asked for.

import (
	"cmp"
	"slices"
)

// Query is what is asked of a transcript.
type Query struct {
	Since int64    // items that changed behind it
	Tail  int      // the newest so many, 0 for all
	Limit int      // at most so many, 0 for the default
	Kinds []string // none for all
}

// defaultLimit is how many items a page has where no number is asked for.
const defaultLimit = 500

// Page is items in the order in which they began.
type Page struct {
	Items []*Item `json:"items"`
	// HeadSeq is up to where the log was read, NextSeq where the next page begins.
	HeadSeq int64 `json:"head_seq"`
	NextSeq int64 `json:"next_seq"`
	Dropped int   `json:"dropped"` // items that were asked for and left out
}

// Page copies a part of the transcript. Items that one event changed stand on one page, so
// that nothing is lost between two: a page may be longer than its limit by those.
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

// cutAt is the seq up to which at least n of the items were changed last.
func cutAt(items []*Item, n int) int64 {
	seqs := make([]int64, len(items))
	for i, item := range items {
		seqs[i] = item.SeqLast
	}
	slices.Sort(seqs)
	return seqs[n-1]
}
