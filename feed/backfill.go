package feed

// Backfill: the most recent matching events before the cursors, in ascending order of time. Events
// of one run keep the order of its file.

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"

	"ac/events"
	"ac/internal/clock"
)

// past is an event of the backfill.
type past struct {
	place logRef
	seq   int64
	at    int64 // nanoseconds as from clock.Nanos; never less than that of the previous event of its run
	raw   []byte

	offset, length int64 // position in the log, while raw is nil
}

// backfill sends the events and does not move the cursors. It skips runs that the client resumes by
// seq: the live reader returns all their events.
func (s *subscription) backfill() error {
	found, err := s.recent()
	if err != nil {
		return err
	}
	patience := s.hub.clock.Now().Add(holdTerminal)
	for _, e := range found {
		if kind, _ := kindOf(e.raw); events.Terminal(kind) {
			ws, _ := s.at(e.place)
			for s.hub.clock.Since(patience) < 0 && awaitsRecord(ws, e.place.key, e.raw) {
				if !s.pause(minReadGap) {
					return s.ctx.Err()
				}
			}
		}
		if err := s.send(e.place, e.seq, clean(e.raw)); err != nil {
			return err
		}
	}
	return nil
}

// recent returns the events of the backfill in their order. It uses the index when there are many
// logs, and falls back to the logs.
func (s *subscription) recent() (found []past, err error) {
	places := s.places()
	if s.spec.Index != nil && len(s.spec.Since) == 0 && len(places) > fewLogs {
		if found, err := s.indexed(places); err == nil {
			return found, nil
		}
	}
	for _, p := range places {
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		if _, resumed := s.spec.Since[p.key.run]; resumed {
			continue
		}
		found = append(found, s.lastOf(p)...)
		if len(found) > 4*s.spec.Backfill {
			found = newestOf(found, s.spec.Backfill)
		}
	}
	return newestOf(found, s.spec.Backfill), nil
}

// newestOf returns the last limit events in order of time. Events of one run keep their order.
func newestOf(found []past, limit int) []past {
	slices.SortStableFunc(found, func(a, b past) int { return cmp.Compare(a.at, b.at) })
	return slices.Clone(found[max(0, len(found)-limit):])
}

// lastOf reads the last matching events of one log before its cursor. It returns none for a log
// that cannot be read.
func (s *subscription) lastOf(p logRef) []past {
	ws, c := s.at(p)
	l, err := openLog(s.ctx, ws, p.key)
	if err != nil {
		return nil
	}
	defer l.close()
	if err := c.attach(l); err != nil {
		return nil
	}
	found, err := s.lastBefore(p, l, c.offset)
	if err != nil {
		return nil
	}
	return found
}

// lastBefore reads ever larger pieces before an offset, until one holds enough matching events.
func (s *subscription) lastBefore(p logRef, l *runLog, end int64) ([]past, error) {
	for piece := int64(256 << 10); ; piece *= 8 {
		from, err := lineStart(l, max(0, end-piece), end)
		if err != nil {
			return nil, err
		}
		found, err := s.matching(p, l, from, end)
		if err != nil {
			return nil, err
		}
		if from > 0 && len(found) < s.spec.Backfill {
			continue
		}
		if from == 0 || len(found) == 0 {
			return found, nil
		}
		before, _, err := events.CountLines(l.part(0, from))
		for i := range found {
			found[i].seq += before
		}
		return found, err
	}
}

// lineStart returns the offset of the first line that begins at or after from, or end if no line
// does.
func lineStart(f io.ReaderAt, from, end int64) (int64, error) {
	if from == 0 {
		return 0, nil
	}
	block := make([]byte, alignBlock)
	for at := from - 1; at < end; at += int64(len(block)) {
		n, err := f.ReadAt(block[:min(int64(len(block)), end-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.IndexByte(block[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
	}
	return end, nil
}

// matching returns the last matching events of a piece of a log. The piece begins with a line, and
// the seqs count from there.
func (s *subscription) matching(p logRef, l *runLog, from, to int64) (found []past, err error) {
	scanner := events.NewScanner(l.part(from, to), from, 0)
	limit := s.spec.Backfill
	var last int64
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) || line.Torn {
			return found[max(0, len(found)-limit):], nil
		}
		if err != nil {
			return nil, err
		}
		kind, sound := kindOf(line.Raw)
		if !sound || !s.asksFor(kind) {
			continue
		}
		if at, ok := clock.Parse(events.Text(line.Raw, "ts_wallclock")); ok {
			last = max(last, clock.Nanos(at))
		}
		if len(found) >= 2*limit {
			found = found[:copy(found, found[limit:])]
		}
		found = append(found, past{place: p, seq: line.Seq, at: last, raw: bytes.Clone(line.Raw)})
	}
}
