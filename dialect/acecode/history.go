package acecode

// Histories: the past events of a session, from its log. The latest sessions are cached, so that
// the log is not read again for a client that reconnects.

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/fault"
)

// Limits of what a client is sent at once, and of the cache for a session.
const (
	maxReplay      = 10_000
	maxReplayBytes = 8 << 20
	keptSessions   = 16
	pageLines      = 1000
)

// history caches the events of a session, up to the line of its log that was read last.
type history struct {
	mu     sync.Mutex
	mapper *frames.Mapper
	recent []frames.Frame // all events after floor
	bytes  int
	floor  int64
}

// histories is an LRU cache of histories.
type histories struct {
	mu   sync.Mutex
	kept []string // most recently used first
	byID map[string]*history
}

func (h *histories) of(id string) *history {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = map[string]*history{}
	}
	if i := slices.Index(h.kept, id); i >= 0 {
		h.kept = slices.Delete(h.kept, i, i+1)
	} else {
		h.byID[id] = &history{}
	}
	h.kept = slices.Insert(h.kept, 0, id)
	for len(h.kept) > keptSessions {
		delete(h.byID, h.kept[len(h.kept)-1])
		h.kept = h.kept[:len(h.kept)-1]
	}
	return h.byID[id]
}

// withHistory brings the history of a session up to date with its log, and calls use with it locked.
func (s *server) withHistory(ctx context.Context, id string, use func(h *history) error) error {
	h := s.kept.of(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mapper == nil {
		h.reset(s, id)
	}
	err := s.lines(ctx, id, h.mapper.Line, h.take)
	if fault.Is(err, fault.CursorAhead) { // the log was replaced
		h.reset(s, id)
		err = s.lines(ctx, id, 0, h.take)
	}
	if err != nil {
		return err
	}
	return use(h)
}

func (h *history) reset(s *server, id string) {
	h.mapper, h.recent, h.bytes, h.floor = frames.NewMapper(s.placeOf(id), s.ProjectID), nil, 0, 0
}

// take adds the events of a line, and drops the oldest beyond the limits.
func (h *history) take(line int64, text []byte) {
	for _, f := range h.mapper.Take(line, text) {
		h.recent = append(h.recent, f)
		h.bytes += f.Size()
	}
	drop := max(0, len(h.recent)-maxReplay)
	for _, f := range h.recent[:drop] {
		h.bytes -= f.Size()
	}
	for h.bytes > maxReplayBytes && drop < len(h.recent) {
		h.bytes -= h.recent[drop].Size()
		drop++
	}
	if drop > 0 {
		h.floor = h.recent[drop-1].Seq
		h.recent = slices.Delete(h.recent, 0, drop)
	}
}

// since returns the events after a number. gap reports that older ones are no longer cached, so
// none are returned.
func (h *history) since(seq int64) (list []frames.Frame, gap bool) {
	if seq < h.floor {
		return nil, true
	}
	i, found := slices.BinarySearchFunc(h.recent, seq, func(f frames.Frame, seq int64) int { return cmp.Compare(f.Seq, seq) })
	if found {
		i++
	}
	return slices.Clone(h.recent[i:]), false
}

// turn returns the events of the running turn, none if no turn is running.
func (h *history) turn() []frames.Frame {
	if h.mapper.Turn == 0 {
		return nil
	}
	list, _ := h.since(max(h.floor, frames.SeqOf(h.mapper.Began)-1))
	return list
}

// newest returns the newest events, at most n.
func (h *history) newest(n int) []frames.Frame {
	return slices.Clone(h.recent[max(0, len(h.recent)-n):])
}

// head returns the number of the newest event, 0 if there is none.
func (h *history) head() int64 {
	if n := len(h.recent); n > 0 {
		return h.recent[n-1].Seq
	}
	return h.floor
}

// lines reads the lines of a run's log after a number, up to its end.
func (s *server) lines(ctx context.Context, id string, since int64, take func(line int64, text []byte)) error {
	for {
		page, err := dialect.Do(ctx, s.Company, orchestration.Operations.ReplayEvents, orchestration.ReplayEventsParams{
			Dir: s.In(), ProjectID: s.ProjectID, RunID: id, SinceSeq: since, Limit: pageLines,
		})
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			take(e.Seq, e.Event)
		}
		if !page.More {
			return nil
		}
		since = page.NextSeq
	}
}
