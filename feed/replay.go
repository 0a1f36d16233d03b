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

// maxPage bounds the events of a page, in bytes. A page has at least one event, however large.
const maxPage = 8 << 20

// PageSpec selects events of a run.
type PageSpec struct {
	Project, Run string
	Since        int64
	Until        *int64
	Limit        int
	Types        []string // empty for all
}

// Page is a sequence of events of a run in order.
type Page struct {
	Events []PageEvent
	Next   int64 // the seq of the last line that was examined
	Head   int64 // the seq of the last line of the log
	More   bool
}

// PageEvent is an event of a page.
type PageEvent struct {
	Seq   int64           `json:"seq"`
	Event json.RawMessage `json:"event"`
}

// keptPages holds the cached positions in a log: where the last page ended, and the log's end.
type keptPages struct {
	mu         sync.Mutex
	page, head cursor
}

// Replay reads the events after a seq, in bounded memory. For a run without a log the error is
// fault.NotFound. For a seq beyond the end it is fault.CursorAhead.
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

// ahead returns the error for a client whose seq is beyond the end of the log.
func ahead(run string, head, since int64) error {
	return fault.New(fault.CursorAhead, "the log of run %s ends at %d, before %d", run, head, since).With(struct {
		HeadSeq int64 `json:"head_seq"`
	}{head})
}

// end returns the number of the last line.
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

// read returns the requested events up to line end. It continues where the previous page ended, if
// possible.
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

// begin moves the cursor to its position in the current file, or to the start of a log that it does
// not know.
func (c *cursor) begin(l *runLog) error {
	stands, err := c.matches(l)
	if err == nil && !stands {
		*c = cursor{}
	}
	c.id = l.id
	return err
}
