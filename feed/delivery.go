package feed

// How a subscription reads the logs that grew, and sends their events.

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"ac/events"
	"ac/internal/canonjson"
	"ac/runs/session"
	"ac/workspace"
)

func (s *subscription) take() []logRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	places := slices.Collect(maps.Keys(s.dirty))
	clear(s.dirty)
	return places
}

// deliver sends the events after the cursor of one log, up to the read quota. rest is when to
// continue, 0 if the log has no more for now. gone is set once the client or the subscription is
// gone.
func (s *subscription) deliver(p logRef) (rest time.Duration, gone error) {
	w := s.source(p)
	_, c := s.ownCursor(p)
	st := w.streamOf(p.key)
	lines, more, shared, err := st.linesAfter(s.ctx, w.ws, p.key, c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.first == "" {
			*c = cursor{} // with no first event, nothing could distinguish this log from a later one
		}
		return 0, nil
	case err != nil:
		return retryAfter, s.ctx.Err()
	case !shared:
		return s.readAlone(w, st, p, c)
	}
	for i := range lines {
		if rest, gone = s.pass(w, st, p, c, lines[i]); rest > 0 || gone != nil {
			return rest, gone
		}
	}
	if more {
		rest = minReadGap
	}
	return rest, nil
}

// readAlone is deliver for a cursor that is outside the buffered lines.
func (s *subscription) readAlone(w *watcher, st *stream, p logRef, c *cursor) (rest time.Duration, gone error) {
	l, err := openWritten(s.ctx, w.ws, p.key)
	if err != nil {
		return retryAfter, s.ctx.Err()
	}
	defer l.close()
	if err = c.attach(l); err == nil {
		err = c.count(l)
	}
	if err != nil {
		return retryAfter, s.ctx.Err()
	}
	end := c.offset + readQuota
	err = c.lines(l, func(line events.Line) bool {
		if rest, gone = s.pass(w, st, p, c, share(line)); rest > 0 || gone != nil {
			return false
		}
		if c.offset >= end {
			rest = minReadGap
		}
		return rest == 0
	})
	if gone == nil && err != nil {
		return retryAfter, s.ctx.Err()
	}
	return rest, gone
}

// pass sends a line if the subscription asks for it, and moves the cursor after it. If the line
// must wait, pass does neither.
func (s *subscription) pass(w *watcher, st *stream, p logRef, c *cursor, line sharedLine) (rest time.Duration, gone error) {
	if line.sound && s.asksFor(line.kind) {
		if s.mustHold(w, st, p.key, c, line) {
			return minReadGap, nil
		}
		if err := s.send(p, line.Seq, line.clean); err != nil {
			return 0, err
		}
	}
	c.pass(line.Line)
	return 0, nil
}

// source returns the watcher of a log's workspace.
func (s *subscription) source(p logRef) *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sources[p.dir]
}

// at returns the workspace and the cursor of a log: the subscription's own cursor, or else the
// log's end as of when the subscription began.
func (s *subscription) at(p logRef) (*workspace.Workspace, *cursor) {
	w := s.source(p)
	// If the log grows now, mark attaches a cursor of its own. Until then its front stays the same.
	front := w.at(p.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cursors[p]; c != nil {
		return w.ws, c
	}
	return w.ws, front
}

// ownCursor is at, but the subscription keeps the cursor.
func (s *subscription) ownCursor(p logRef) (*workspace.Workspace, *cursor) {
	ws, c := s.at(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.cursors[p]; kept != nil {
		return ws, kept
	}
	s.cursors[p] = c
	return ws, c
}

// kindOf returns the type of an event. sound reports whether the line is a JSON object.
func kindOf(raw []byte) (kind string, sound bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return "", false
	}
	sound = canonjson.Members(raw, func(m canonjson.Member) {
		if string(m.Key) == "type" {
			kind = ""
			if m.Value[0] == '"' {
				kind = canonjson.Unquote(m.Value)
			}
		}
	}) == nil
	return kind, sound
}

func (s *subscription) asksFor(kind string) bool {
	return len(s.spec.Types) == 0 || slices.Contains(s.spec.Types, kind)
}

// mustHold reports whether the terminal event of a run has to wait because the run's record does
// not show the end yet. A client that receives the end must be able to read it.
func (s *subscription) mustHold(w *watcher, st *stream, key logKey, c *cursor, line sharedLine) bool {
	if !events.Terminal(line.kind) {
		c.held = time.Time{}
		return false
	}
	if c.held.IsZero() {
		c.held = s.hub.clock.Now()
	}
	return s.hub.clock.Since(c.held) < holdTerminal && st.awaitsRecord(s.hub.clock.Now(), w.ws, key, line)
}

// awaitsRecord reports whether the session of a terminal event is still reported as
// running by its live owner.
func awaitsRecord(ws *workspace.Workspace, key logKey, raw []byte) bool {
	record, err := session.Read(ws, events.Text(raw, "session_ref"))
	return err == nil && record.RunID == key.run && session.Live(ws, record)
}

// clean returns an event as clients get it: trimmed, and valid UTF-8.
func clean(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	if !utf8.Valid(raw) {
		return bytes.ToValidUTF8(raw, []byte("\ufffd"))
	}
	return raw
}

// send writes one notification with the event spliced in. raw is already clean.
func (s *subscription) send(p logRef, seq int64, raw []byte) error {
	if s.spec.Deliver != nil {
		return s.spec.Deliver(s.ctx, Event{Project: p.key.project, Run: p.key.run, Seq: seq, Raw: raw})
	}
	line := make([]byte, 0, len(raw)+256)
	line = append(line, `{"jsonrpc":"2.0","method":"events.notification","params":{"subscription_id":`...)
	line = canonjson.AppendString(line, s.spec.ID)
	line = append(line, `,"project_id":`...)
	line = canonjson.AppendString(line, p.key.project)
	line = append(line, `,"workspace_dir":`...)
	dir := s.spec.Given
	if dir == "" {
		dir = p.dir
	}
	line = canonjson.AppendString(line, dir)
	line = append(line, `,"seq":`...)
	line = strconv.AppendInt(line, seq, 10)
	if s.head != nil && seq <= *s.head {
		line = append(line, `,"replayed":true`...)
	}
	line = append(append(line, `,"event":`...), raw...)
	return s.hub.sink.Notify(s.ctx, append(line, '}', '}'))
}
