package transcript

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPagesLoseNothing checks that reading a transcript in pages of any size returns each item
// once, and ends.
func TestPagesLoseNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := NewFold("")
		n := rapid.IntRange(0, 60).Draw(t, "items")
		for i := range n {
			first := rapid.Int64Range(1, 40).Draw(t, "first")
			last := rapid.Int64Range(first, 40).Draw(t, "last")
			f.items = append(f.items, &Item{ID: fmt.Sprint(i), Kind: KindMessage, SeqFirst: first, SeqLast: last})
		}
		slices.SortStableFunc(f.items, func(a, b *Item) int { return int(a.SeqFirst - b.SeqFirst) })
		f.seq = 40
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		had := map[string]bool{}
		for since, pages := int64(0), 0; ; pages++ {
			page := f.Page(Query{Since: since, Limit: limit})
			if pages > 100 || page.NextSeq <= since && page.NextSeq < page.HeadSeq {
				t.Fatalf("the pages do not end: at %d", since)
			}
			for i, item := range page.Items {
				if item.SeqLast <= since || had[item.ID] {
					t.Fatalf("item %s is had twice", item.ID)
				}
				if i > 0 && page.Items[i-1].SeqFirst > item.SeqFirst {
					t.Fatal("the items are not in order")
				}
				had[item.ID] = true
			}
			if since = page.NextSeq; since == page.HeadSeq {
				break
			}
		}
		if len(had) != n {
			t.Fatalf("%d of %d items", len(had), n)
		}
	})
}

func TestPage(t *testing.T) {
	t.Parallel()
	f := NewFold("")
	for i := range 5 {
		kind := KindMessage
		if i%2 == 1 {
			kind = KindTool
		}
		f.items = append(f.items, &Item{ID: fmt.Sprint(i), Kind: kind, SeqFirst: int64(i + 1), SeqLast: int64(i + 1)})
	}
	f.items[0].SeqLast = 9 // it was open for a long time
	f.seq = 9
	for _, c := range []struct {
		query   Query
		want    []string
		next    int64
		dropped int
	}{
		{Query{}, []string{"0", "1", "2", "3", "4"}, 9, 0},
		{Query{Since: 3}, []string{"0", "3", "4"}, 9, 0},
		{Query{Since: 9}, []string{}, 9, 0},
		{Query{Tail: 2}, []string{"3", "4"}, 9, 3},
		{Query{Limit: 2}, []string{"1", "2"}, 3, 3},
		{Query{Limit: 2, Since: 3}, []string{"3", "4"}, 5, 1},
		{Query{Kinds: []string{KindTool}}, []string{"1", "3"}, 9, 3},
		{Query{Kinds: []string{KindMessage}, Tail: 1}, []string{"4"}, 9, 4},
	} {
		page := f.Page(c.query)
		got := []string{}
		for _, i := range page.Items {
			got = append(got, i.ID)
		}
		if !slices.Equal(got, c.want) || page.NextSeq != c.next || page.Dropped != c.dropped || page.HeadSeq != 9 {
			t.Errorf("%+v: %v, next %d, dropped %d; want %+v", c.query, got, page.NextSeq, page.Dropped, c)
		}
	}
}
