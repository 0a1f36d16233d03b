package feed

// Pages of the events of a run, from any seq on.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
)

// maxPage bounds the events of a page, in bytes; one always fits.
const maxPage = 8 << 20

// PageSpec is what events are asked for.
type PageSpec struct {
	Project, Run string
	Since        int64
	Until        *int64
	Limit        int
	Types        []string // none for all
}

// Page is events of a run in their order.
type Page struct {
	Events []PageEvent
	Next   int64 // the last line that was looked at
	Head   int64 // the last line of the log
	More   bool
}

// PageEvent is one of them.
type PageEvent struct {
	Seq   int64           `json:"seq"`
	Event json.RawMessage `json:"event"`
}

// keptPages are the places in a log up to which it was read.
type keptPages struct {
	mu         sync.Mutex
	page, head cursor
}

// Replay reads the events behind a seq, in bounded memory. A run without a log is
// fault.NotFound, a seq behind the end fault.CursorAhead.
func (g *Logs) Replay(ctx context.Context, ws *workspace.Workspace, spec PageSpec) (page Page, err error) {
	key := logKey{spec.Project, spec.Run}
	l, err := openNamed(ctx, ws, key)
	if err != nil {
		return page, err
	}
	defer l.close()
	k := g.pages.of(ws, key)
	k.mu.Lock()
	defer k.mu.Unlock()
	if page.Head, err = k.end(l); err != nil {
		return page, fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	}
	if spec.Since > page.Head {
		return page, ahead(spec.Run, page.Head, spec.Since)
	}
	end := page.Head
	if spec.Until != nil {
		end = min(end, *spec.Until)
	}
	if page.Events, page.Next, err = k.read(l, spec, end); err != nil {
		return page, fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	}
	page.More = page.Next < end
	return page, nil
}

// ahead is the error of one who had more of a log than there is.
func ahead(run string, head, since int64) error {
	return fault.New(fault.CursorAhead, "the log of run %s ends at %d, before %d", run, head, since).With(struct {
		HeadSeq int64 `json:"head_seq"`
	}{head})
}

// end is the number of the last line.
func (k *keptPages) end(l *runLog) (int64, error) {
	if err := k.head.begin(l); err != nil {
		return 0, err
	}
	err := k.head.lines(l, func(line events.Line) bool {
		k.head.pass(line)
		return true
	})
	return k.head.seq, err
}

// read takes what is asked for up to the line end, from where a page ended before.
func (k *keptPages) read(l *runLog, spec PageSpec, end int64) (found []PageEvent, next int64, err error) {
	if k.page.seq > spec.Since {
		k.page = cursor{}
	}
	if err := k.page.begin(l); err != nil {
		return nil, 0, err
	}
	found, next = []PageEvent{}, spec.Since
	size := 0
	err = k.page.lines(l, func(line events.Line) bool {
		if line.Seq > end || len(found) == spec.Limit {
			return false
		}
		if line.Seq > spec.Since {
			kind, sound := kindOf(line.Raw)
			if sound && (len(spec.Types) == 0 || slices.Contains(spec.Types, kind)) {
				if size += len(line.Raw); size > maxPage && len(found) > 0 {
					return false
				}
				found = append(found, PageEvent{line.Seq, bytes.Clone(clean(line.Raw))})
			}
			next = line.Seq
		}
		k.page.pass(line)
		return true
	})
	return found, next, err
}

// begin makes the cursor a place in the file that is there now: where it stands, or the
// start of a log that it does not know.
func (c *cursor) begin(l *runLog) error {
	stands, err := c.stands(l)
	if err == nil && !stands {
		*c = cursor{}
	}
	c.id = l.id
	return err
}
