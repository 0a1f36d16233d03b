package hub

// Sealing: which drafts of an attempt are new, and which may enter the log.

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

// sealing is how far the drafts of an attempt have reached their run's log.
type sealing struct {
	written int64 // number of the newest draft in the log
	sealed  int64 // number of the newest durable one
	// found contains the ids of the log's lines after the last checkpoint, as read when the hub
	// started or a sync failed. Drafts with these ids are already in the log.
	found map[string]bool
	// maxFound is an upper bound of the draft numbers in the log when found was read; 0 if unknown.
	maxFound int64
	// newest contains the ids of recently written drafts.
	newest recent
}

// firstNew returns the index of a batch's first draft that is not in the log. gap reports that drafts
// before the batch are missing.
func (s *sealing) firstNew(first int64, count int) (from int, gap bool) {
	if first > s.written+1 {
		return 0, true
	}
	return int(min(s.written+1-first, int64(count))), false
}

// consumeFound reports whether a draft is already in the log, and removes its id from found.
func (s *sealing) consumeFound(id string) bool {
	if s.found[id] {
		delete(s.found, id)
		return true
	}
	return false
}

// begin restarts at draft n, the one of a checkpoint. The caller then fills found from the log.
func (s *sealing) begin(n int64) {
	reach := max(s.maxFound, s.written)
	if len(s.found) > 0 && s.maxFound == 0 {
		reach = 0 // the log may contain drafts beyond written
	}
	*s = sealing{written: n, sealed: n, found: map[string]bool{}, maxFound: reach}
}

// setMaxFound sets the unknown reach to the number of the worker's newest draft.
func (s *sealing) setMaxFound(newest int64) {
	if s.maxFound == 0 {
		s.maxFound = newest
	}
}

// checkpoint returns the next checkpoint for a log of this size. It keeps the old offset while
// drafts after it may still be redelivered. Ids that remain in found once all drafts up to reach
// are sealed never match. Their lines are the hub's own or another writer's, or precede the
// checkpoint.
func (s *sealing) checkpoint(was fleet.LogCheckpoint, size int64) fleet.LogCheckpoint {
	if len(s.found) > 0 && (s.maxFound == 0 || s.sealed < s.maxFound) {
		size = was.Offset
	}
	return fleet.LogCheckpoint{N: s.sealed, Offset: size}
}

// remember puts ids back into found, because their drafts will be redelivered.
func (s *sealing) remember(ids []string) {
	for _, id := range ids {
		s.found[id] = true
	}
}

// recent is a bounded set of the newest ids.
type recent struct {
	ids  map[string]bool
	ring []string
	next int
}

// remembered is the capacity of recent.
const remembered = 1024

// add adds an id. It reports whether the set already contained it.
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

// recover determines which drafts of the attempt are in the log: all up to the checkpoint, and
// those whose ids appear in later lines. The caller must hold the launch's lock, unless the
// launch is not registered yet.
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
		if id, kind, at, ok := idOf(line.Raw); ok && !isHubOnly(kind) {
			l.sealing.found[id] = true
			l.last = max(l.last, at)
		}
	}
}

// idOf returns a line's id, type, and time in Unix milliseconds. ok is false for a torn line,
// whose draft must be written again.
func idOf(line []byte) (id, kind string, at int64, ok bool) {
	err := canonjson.Members(bytes.TrimSpace(line), func(m canonjson.Member) {
		switch string(m.Key) {
		case "event_id":
			ok = json.Unmarshal(m.Value, &id) == nil
		case "type":
			_ = json.Unmarshal(m.Value, &kind) // without a type it is not one of the hub's own
		case "ts_wallclock":
			var stamp string
			_ = json.Unmarshal(m.Value, &stamp) // without a time
			if t, ok := clock.Parse(stamp); ok {
				at = t.UnixMilli()
			}
		}
	})
	return id, kind, at, ok && err == nil
}

var eventID = lazyregexp.New(`^evt_[0-9A-HJKMNP-TV-Z]{26}$`)

// isHubOnly reports whether only the hub may write events of a type.
func isHubOnly(kind string) bool {
	switch kind {
	case "run.created", events.RunStarted, events.RunContinued, events.RunEnded, events.RunFailed, events.RunStopped:
		return true
	}
	return slices.ContainsFunc([]string{"policy.", "approval.", "budget.", "audit.", "worker."}, func(p string) bool { return strings.HasPrefix(kind, p) })
}

// maxKind is the maximum length of an event type, in bytes.
const maxKind = 200

// convertDraft converts a draft for the log, or returns why it may not enter. The caller must hold
// the launch's lock.
func (l *launch) convertDraft(d fleet.Draft, offsetMS int64) (draft events.Draft, why string) {
	switch {
	case !eventID().MatchString(d.ID):
		return draft, "its id is none of an event"
	case l.sealing.newest.add(d.ID):
		return draft, "its id was there already"
	case d.Actor != events.ActorSystem && d.Actor != l.order.AgentID && !l.isKnownActor(d.Actor):
		return draft, "its actor has no part in the session"
	case !slices.Contains([]string{events.VisibilityPrivate, events.VisibilityTeam, events.VisibilityManagers, events.VisibilityOrg}, d.Vis):
		return draft, "its visibility is unknown"
	case d.Type == "" || len(d.Type) > maxKind || isHubOnly(d.Type):
		return draft, "its type is the hub's own"
	case len(d.Payload) > fleet.MaxPayload || len(d.Payload) == 0:
		return draft, "its payload is too long or missing"
	case d.Cause != "" && !eventID().MatchString(d.Cause):
		return draft, "its cause is none of an event"
	}
	payload, err := canonjson.Canonical(nil, clock.ShiftTimes(d.Payload, offsetMS, timesIn(d.Type)...))
	if err != nil {
		return draft, "its payload is no JSON"
	}
	return events.Draft{
		ID: d.ID, At: l.timeOf(d.At, offsetMS), MonotonicMS: l.order.MonotonicMS + max(d.Mono, 0), RunID: l.order.RunID, SessionRef: l.order.SessionRef,
		Actor: d.Actor, Visibility: d.Vis, Type: d.Type, Payload: payload, Causation: d.Cause,
	}, ""
}

// isKnownActor reports whether an actor started the session or sent it a request through the hub. The
// caller must hold the launch's lock.
func (l *launch) isKnownActor(actor string) bool {
	return actor != "" && (l.order.Live != nil && l.order.Live.ActorID == actor || slices.Contains(l.actors, actor))
}
