package hub

// Sealing: which drafts of an attempt are new, and whether they may enter the log.

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"ac/events"
	"ac/fleet"
	"ac/internal/canonjson"
	"ac/internal/clock"
	"ac/internal/lazyregexp"
)

// sealing is how far the drafts of an attempt are in the log of their run.
type sealing struct {
	written int64 // number of the newest draft in the log
	sealed  int64 // and of the newest one that is durable there
	// found are the ids of lines that the log had behind the last checkpoint when the hub
	// began, or lost a sync: drafts of these ids are in it already.
	found map[string]bool
	// reach is a number that no draft in the log exceeded when found was read; 0 while it is
	// not known.
	reach int64
	// newest are ids of drafts that were written lately.
	newest recent
}

// news is the part of a batch that is not in the log, from an index on. gap says that
// drafts before it are missing.
func (s *sealing) news(first int64, count int) (from int, gap bool) {
	if first > s.written+1 {
		return 0, true
	}
	return int(min(s.written+1-first, int64(count))), false
}

// known reports whether a draft is in the log already, and forgets that.
func (s *sealing) known(id string) bool {
	if s.found[id] {
		delete(s.found, id)
		return true
	}
	return false
}

// begin starts again behind the draft of a checkpoint. What the log has behind it is found
// next.
func (s *sealing) begin(n int64) {
	reach := max(s.reach, s.written)
	if len(s.found) > 0 && s.reach == 0 {
		reach = 0 // the log may have more than was written since it was read
	}
	*s = sealing{written: n, sealed: n, found: map[string]bool{}, reach: reach}
}

// has takes from a worker that its newest draft has this number.
func (s *sealing) has(newest int64) {
	if s.reach == 0 {
		s.reach = newest
	}
}

// checkpoint is the next checkpoint for a log of this size. The next hub reads the log from
// the same offset again while drafts behind it may come again. Lines that are still found
// once all drafts were sealed never come: they are of the hub, of others, or before the
// checkpoint.
func (s *sealing) checkpoint(was fleet.LogCheckpoint, size int64) fleet.LogCheckpoint {
	if len(s.found) > 0 && (s.reach == 0 || s.sealed < s.reach) {
		size = was.Offset
	}
	return fleet.LogCheckpoint{N: s.sealed, Offset: size}
}

// remember takes back that drafts were known: they come again.
func (s *sealing) remember(ids []string) {
	for _, id := range ids {
		s.found[id] = true
	}
}

// recent remembers the last ids of many.
type recent struct {
	ids  map[string]bool
	ring []string
	next int
}

// remembered is how many ids are remembered of an attempt.
const remembered = 1024

// add remembers an id. It reports whether it was there already.
func (r *recent) add(id string) (again bool) {
	if r.ids == nil {
		r.ids = map[string]bool{}
	}
	if r.ids[id] {
		return true
	}
	r.ids[id] = true
	if len(r.ring) < remembered {
		r.ring = append(r.ring, id)
		return false
	}
	delete(r.ids, r.ring[r.next])
	r.ring[r.next] = id
	r.next = (r.next + 1) % remembered
	return false
}

// recover finds out what the log has of the attempt: all up to its checkpoint, and the
// drafts whose ids its lines behind that have. It runs with the launch locked, or before
// anybody knows it.
func (l *launch) recover() error {
	l.sealing.begin(l.record.Checkpoint.N)
	l.last = max(l.last, l.record.Checkpoint.LastMS)
	f, err := l.h.w.FS.OpenFile(l.name, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	from := min(l.record.Checkpoint.Offset, st.Size())
	scanner := events.NewScanner(io.NewSectionReader(f, from, st.Size()-from), 0, 0)
	for {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if id, kind, at, ok := idOf(line.Raw); ok && !forbidden(kind) {
			l.sealing.found[id] = true
			l.last = max(l.last, at)
		}
	}
}

// idOf is the id, the type and the time in Unix milliseconds of a line that counts: one that
// is torn does not, and its draft is written again.
func idOf(line []byte) (id, kind string, at int64, ok bool) {
	err := canonjson.Members(bytes.TrimSpace(line), func(m canonjson.Member) {
		switch string(m.Key) {
		case "event_id":
			ok = json.Unmarshal(m.Value, &id) == nil
		case "type":
			_ = json.Unmarshal(m.Value, &kind) // then it is none of the hub's own
		case "ts_wallclock":
			var stamp string
			_ = json.Unmarshal(m.Value, &stamp) // then it has no time
			if t, ok := clock.Parse(stamp); ok {
				at = t.UnixMilli()
			}
		}
	})
	return id, kind, at, ok && err == nil
}

var eventID = lazyregexp.New(`^evt_[0-9A-HJKMNP-TV-Z]{26}$`)

// forbidden are the beginnings of types that only the hub may write.
func forbidden(kind string) bool {
	switch kind {
	case "run.created", events.RunStarted, events.RunContinued, events.RunEnded, events.RunFailed, events.RunStopped:
		return true
	}
	return slices.ContainsFunc([]string{"policy.", "approval.", "budget.", "audit.", "worker."}, func(p string) bool { return strings.HasPrefix(kind, p) })
}

// maxKind bounds the type of an event.
const maxKind = 200

// sealable is a draft as it may enter the log, or why it may not. It runs with the launch
// locked.
func (l *launch) sealable(d fleet.Draft, offsetMS int64) (draft events.Draft, why string) {
	switch {
	case !eventID().MatchString(d.ID):
		return draft, "its id is none of an event"
	case l.sealing.newest.add(d.ID):
		return draft, "its id was there already"
	case d.Actor != events.ActorSystem && d.Actor != l.order.AgentID && !l.speaks(d.Actor):
		return draft, "its actor has no part in the session"
	case !slices.Contains([]string{events.VisibilityPrivate, events.VisibilityTeam, events.VisibilityManagers, events.VisibilityOrg}, d.Vis):
		return draft, "its visibility is unknown"
	case d.Type == "" || len(d.Type) > maxKind || forbidden(d.Type):
		return draft, "its type is the hub's own"
	case len(d.Payload) > fleet.MaxPayload || len(d.Payload) == 0:
		return draft, "its payload is too long or missing"
	case d.Cause != "" && !eventID().MatchString(d.Cause):
		return draft, "its cause is none of an event"
	}
	payload, err := canonjson.Canonical(nil, clock.Shifted(d.Payload, offsetMS, timesIn(d.Type)...))
	if err != nil {
		return draft, "its payload is no JSON"
	}
	return events.Draft{
		ID: d.ID, At: l.timeOf(d.At, offsetMS), MonotonicMS: l.order.MonotonicMS + max(d.Mono, 0), RunID: l.order.RunID, SessionRef: l.order.SessionRef,
		Actor: d.Actor, Visibility: d.Vis, Type: d.Type, Payload: payload, Causation: d.Cause,
	}, ""
}

// speaks reports whether somebody said something to the session through the hub, or began
// it. It runs with the launch locked.
func (l *launch) speaks(actor string) bool {
	return actor != "" && (l.order.Live != nil && l.order.Live.ActorID == actor || slices.Contains(l.actors, actor))
}
