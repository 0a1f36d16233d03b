package feed

// The pace of a transcript. Changes wait until they may be sent, and are merged meanwhile. A reader
// gets fewer and longer pieces, never a gap.

import (
	"slices"
	"time"

	"ac/runs/transcript"
)

const (
	// joinWithin is how long the appends to an item may be collected.
	joinWithin = 50 * time.Millisecond
	// perSecond is the maximum number of notifications of an item in a second.
	perSecond = 20
	// apart is how many notifications of an item may be sent separately within a second. Beyond
	// that, its waiting changes are merged.
	apart = 4
	// maxWaiting and maxWaitingBytes bound what waits for a slow reader. Beyond that, the log is
	// not read (backpressure).
	maxWaiting      = 512
	maxWaitingBytes = 512 << 10
)

// change is a change that waits to be sent.
type change struct {
	transcript.Change          // without its text, for an append
	pieces            []string // the texts of an append
	id                string   // of the item, "" for the state of the run
	seq               int64
}

// pace holds the waiting changes in order, and when open items were last sent. It is not safe for
// concurrent use.
type pace struct {
	waiting []change
	bytes   int
	sent    map[string][]time.Time // within the last second, by item
}

func newPace() *pace { return &pace{sent: map[string][]time.Time{}} }

// add queues the changes of an event.
func (p *pace) add(seq int64, changes []transcript.Change) {
	for _, c := range changes {
		id := ""
		if c.Item != nil {
			id = c.Item.ID
		}
		if n := len(p.waiting); n > 0 && c.Op == transcript.Append {
			if last := &p.waiting[n-1]; last.id == id && last.Op == transcript.Append && last.Field == c.Field {
				last.pieces, last.seq = append(last.pieces, c.Text), seq
				p.bytes += len(c.Text)
				continue
			}
		}
		next := change{Change: c, id: id, seq: seq}
		if c.Op == transcript.Append {
			next.pieces, next.Text = []string{c.Text}, ""
		}
		p.waiting = append(p.waiting, next)
		p.bytes += next.weight()
	}
	if p.full() {
		p.join(func(string) bool { return true })
	}
}

// full reports whether the queue accepts no more.
func (p *pace) full() bool { return len(p.waiting) > maxWaiting || p.bytes > maxWaitingBytes }

// weight returns the approximate size of the change in bytes.
func (c *change) weight() int {
	n := 100
	for _, piece := range c.pieces {
		n += len(piece)
	}
	if c.Item != nil && c.Op != transcript.Append {
		n += len(c.Item.Text)
		if t := c.Item.Tool; t != nil {
			n += len(t.OutputTail) + len(t.Input) + len(t.Diff)
		}
	}
	return n
}

// wait returns how long until the waiting changes may be sent. ok is false if none wait.
func (p *pace) wait(now time.Time) (d time.Duration, ok bool) {
	for _, c := range p.waiting {
		times := p.since(c.id, now)
		if len(times) < apart {
			continue
		}
		d = max(d, joinWithin-now.Sub(times[len(times)-1]))
		if len(times) >= perSecond {
			d = max(d, time.Second-now.Sub(times[len(times)-perSecond]))
		}
	}
	return d, len(p.waiting) > 0
}

// since returns when an item was sent within the last second.
func (p *pace) since(id string, now time.Time) []time.Time {
	times := p.sent[id]
	for len(times) > 0 && now.Sub(times[0]) >= time.Second {
		times = times[1:]
	}
	if len(times) == 0 {
		delete(p.sent, id)
	} else {
		p.sent[id] = times
	}
	return times
}

// take returns the changes to send now, in the order of their seqs, and empties the queue.
func (p *pace) take(now time.Time) []change {
	count := map[string]int{}
	for _, c := range p.waiting {
		count[c.id]++
	}
	p.join(func(id string) bool { return len(p.since(id, now))+count[id] > apart })
	list := p.waiting
	p.waiting, p.bytes = nil, 0
	for _, c := range list {
		if c.Op == transcript.Close {
			delete(p.sent, c.id)
			continue
		}
		p.sent[c.id] = append(p.sent[c.id], now)
	}
	return list
}

// join merges all changes of each item that which selects, at the position of the last one.
func (p *pace) join(which func(id string) bool) {
	last := map[string]int{} // by item, the index of its merged change in kept
	var kept []change        // backwards
	for _, c := range slices.Backward(p.waiting) {
		at, known := last[c.id]
		switch {
		case !which(c.id):
			kept = append(kept, c)
		case !known:
			last[c.id] = len(kept)
			kept = append(kept, c)
		default:
			if before := joined(c, kept[at]); before != nil {
				kept[at] = *before
				continue
			}
			last[c.id] = len(kept) // appends to different fields cannot merge
			kept = append(kept, c)
		}
	}
	slices.Reverse(kept)
	p.waiting, p.bytes = kept, 0
	for i := range kept {
		p.bytes += kept[i].weight()
	}
}

// joined merges a change and a later one of the same item. It returns nil if they cannot be merged.
func joined(c, later change) *change {
	switch {
	case later.Op == transcript.Status:
		return &later
	case later.Op != transcript.Append:
		if c.Op == transcript.Open && later.Op == transcript.Update || c.Op == transcript.Close {
			later.Op = c.Op // the client does not know the item yet, or the item is closed
		}
		return &later
	case c.Op != transcript.Append:
		item := c.Item.Snapshot()
		for _, piece := range later.pieces {
			item.Apply(later.Field, piece, later.seq)
		}
		c.Item, c.seq = item, later.seq
		return &c
	case c.Field == later.Field:
		later.pieces = append(c.pieces, later.pieces...)
		return &later
	}
	return nil
}
