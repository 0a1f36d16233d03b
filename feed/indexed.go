package feed

// Backfill from the index, which knows the positions of the newest events of many logs. The index
// is a cache: if it does not match the logs, the backfill falls back to them.

import (
	"errors"
	"math"
	"slices"

	"ac/index"
	"ac/index/source"
	"ac/internal/durable"
)

// fewLogs is the number of logs up to which reading their ends is faster than the index.
const fewLogs = 8

// errUnfit reports that the index does not match the logs as the cursors know them.
var errUnfit = errors.New("the index does not fit the logs")

// indexed returns the last matching events before the cursors, including those of logs that the
// index does not know.
func (s *subscription) indexed(places []logRef) (found []past, err error) {
	scope := source.Scope{Project: s.spec.Project, Kinds: source.Runs}
	if _, err := s.spec.Index.SyncOnly(s.ctx, scope); err != nil {
		return nil, err
	}
	known := make(map[logKey]logRef, len(places))
	for _, p := range places {
		if _, c := s.at(p); c.seq >= 0 || c.id != (durable.Identity{}) {
			known[p.key] = p
			continue
		}
		return nil, errUnfit // its end was never read
	}
	unknown := make(map[logKey]logRef, len(places))
	err = s.spec.Index.View(s.ctx, func(v *index.View) error {
		logs, err := v.Logs(s.spec.Project)
		if err != nil {
			return err
		}
		for key, p := range known {
			unknown[key] = p
		}
		for _, log := range logs {
			delete(unknown, logKey{log.ProjectID, log.RunID})
		}
		found, err = s.newestIndexed(v, known)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if _, missing := unknown[p.key]; missing {
			found = append(found, s.lastOf(p)...)
		}
	}
	slices.SortStableFunc(found, func(a, b past) int { return byName(a.place, b.place) })
	found = newestOf(found, s.spec.Backfill)
	return found, s.texts(found)
}

// newestIndexed returns a superset of the newest matching events: the tail of each log from some
// event on. An event counts as no older than the previous one of its log, which the index does not
// know. So if any events of a log are among the newest by their own time, everything from the first
// of them on is included.
func (s *subscription) newestIndexed(v *index.View, known map[logKey]logRef) (found []past, err error) {
	first, err := s.firstOfNewest(v, known)
	if err != nil {
		return nil, err
	}
	for log, seq := range first {
		events, err := v.Locations(index.EventFilter{ProjectID: log.ProjectID, RunID: log.RunID, Types: s.spec.Types, SinceSeq: seq - 1, Ascending: true})
		if err != nil {
			return nil, err
		}
		var last int64
		for _, e := range events {
			p, seen := s.seen(known, e)
			if !seen {
				break
			}
			if at, timed := e.At(); timed {
				last = max(last, at)
			}
			found = append(found, past{place: p, seq: e.Seq, at: last, offset: e.Offset, length: e.Length})
		}
	}
	return found, nil
}

// firstOfNewest returns, by run, the first event that is among the newest by its own time. Events
// as old as the oldest of these are included.
func (s *subscription) firstOfNewest(v *index.View, known map[logKey]logRef) (map[index.RunKey]int64, error) {
	for limit := s.spec.Backfill + 256; ; limit *= 4 {
		events, err := v.Locations(index.EventFilter{ProjectID: s.spec.Project, Types: s.spec.Types, Limit: limit})
		if err != nil {
			return nil, err
		}
		first := map[index.RunKey]int64{}
		taken, oldest, whole := 0, int64(math.MinInt64), len(events) < limit
		for _, e := range events {
			at, timed := e.At()
			if taken >= s.spec.Backfill && (!timed || at < oldest) {
				whole = true // the rest is older
				break
			}
			if _, seen := s.seen(known, e); !seen {
				continue
			}
			if !timed {
				return nil, errUnfit // its time is that of earlier events
			}
			taken, oldest = taken+1, at
			run := index.RunKey{ProjectID: e.ProjectID, RunID: e.RunID}
			if seq, there := first[run]; !there || e.Seq < seq {
				first[run] = e.Seq
			}
		}
		if whole {
			return first, nil
		}
	}
}

// seen reports whether an event is before the cursor of its log.
func (s *subscription) seen(known map[logKey]logRef, e index.EventLocation) (logRef, bool) {
	p, there := known[logKey{e.ProjectID, e.Dir}]
	if !there {
		return p, false
	}
	_, c := s.at(p)
	return p, e.Offset+e.Length < c.offset // including its LF
}

// texts reads the events from the logs, which must be the files that the cursors know.
func (s *subscription) texts(found []past) error {
	byLog := map[logRef][]*past{}
	for i := range found {
		if found[i].raw == nil {
			byLog[found[i].place] = append(byLog[found[i].place], &found[i])
		}
	}
	for p, events := range byLog {
		ws, c := s.at(p)
		l, err := openLog(s.ctx, ws, p.key)
		if err != nil {
			return err
		}
		if l.id != c.id {
			err = errUnfit // the file was replaced
		}
		for i := 0; i < len(events) && err == nil; i++ {
			err = s.text(l, events[i])
		}
		l.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// text reads one event. It must be a whole line of a requested type.
func (s *subscription) text(l *runLog, e *past) error {
	before := min(e.offset, 1)
	block, err := l.block(e.offset-before, before+e.length+1)
	if err != nil {
		return err
	}
	if int64(len(block)) != before+e.length+1 || block[len(block)-1] != '\n' || (before == 1 && block[0] != '\n') {
		return errUnfit
	}
	e.raw = block[before : len(block)-1]
	if kind, sound := kindOf(e.raw); !sound || !s.asksFor(kind) {
		return errUnfit
	}
	return nil
}
