package worker

// What a shipper reads: the lines of a session in the spool's log.

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/durable"
)

// numbered reports whether a line of the spool is a draft: the others are written by the
// hub itself, in its own words.
func numbered(kind string) bool {
	for _, prefix := range []string{"policy.", "approval.", "budget.", "audit.", "worker."} {
		if strings.HasPrefix(kind, prefix) {
			return false
		}
	}
	return kind != "run.created" && kind != events.RunStarted && kind != events.RunContinued && !events.Terminal(kind)
}

// logLine is a line of the spool's log.
type logLine struct {
	ID, At           string
	Mono             int64
	Actor, Vis, Type string
	Payload          json.RawMessage
	Cause, Session   string
}

// readLine reads a line in one scan. Its payload is a part of it.
func readLine(raw []byte) (line logLine, ok bool) {
	ok = true
	err := canonjson.Members(raw, func(m canonjson.Member) {
		var to *string
		switch string(m.Key) {
		case "event_id":
			to = &line.ID
		case "ts_wallclock":
			to = &line.At
		case "actor":
			to = &line.Actor
		case "visibility":
			to = &line.Vis
		case "type":
			to = &line.Type
		case "causation_id":
			to = &line.Cause
		case "session_ref":
			to = &line.Session
		case "payload":
			line.Payload = m.Value
			return
		case "ts_monotonic_ms":
			ok = json.Unmarshal(m.Value, &line.Mono) == nil && ok
			return
		default:
			return
		}
		switch {
		case m.Value[0] == '"':
			*to = canonjson.Unquote(m.Value)
		case string(m.Value) != "null":
			ok = false
		}
	})
	return line, ok && err == nil
}

// visit reads the lines of the session from a place on, each synced before it is shown:
// what was published and is lost in a power cut would be a gap that nothing fills. It ends
// with the log, or when show returns false, and returns the place behind the last line
// that was shown.
func (s *shipper) visit(from mark, show func(n int64, line logLine) bool) (mark, error) {
	to, _, _, err := s.read(from, 0, show)
	return to, err
}

// read is visit for a log that is known to be synced up to a place. It ends there if that is
// behind from, and returns up to where it is known to be synced now, 0 for nowhere, and whether
// the log goes on behind that.
func (s *shipper) read(from mark, synced int64, show func(n int64, line logLine) bool) (to mark, end int64, longer bool, err error) {
	file, err := s.log()
	if err != nil {
		return from, 0, false, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil || st.Size() <= from.offset {
		return from, 0, false, err
	}
	limit := synced
	if synced <= from.offset || synced > st.Size() {
		if limit, synced, err = syncedTo(file, st.Size()); err != nil {
			return from, 0, false, err
		}
	}
	if _, err := file.Seek(from.offset, io.SeekStart); err != nil {
		return from, 0, false, err
	}
	to, err = s.lines(file, from, limit, show)
	return to, synced, limit < st.Size(), err
}

// syncedTo syncs a log, and returns up to where it may be read, and up to where it stays as it
// is now: not at all where its last line is torn, which may be cut off and written over.
func syncedTo(file durable.File, size int64) (limit, stays int64, err error) {
	last := make([]byte, 1)
	if err := file.SyncData(); err != nil {
		return 0, 0, err
	}
	if _, err := file.ReadAt(last, size-1); err != nil || last[0] != '\n' {
		return size, 0, err
	}
	return size, size, nil
}

// lines shows the lines of the session up to the end of what may be read.
func (s *shipper) lines(file io.Reader, from mark, limit int64, show func(n int64, line logLine) bool) (mark, error) {
	lines := events.NewScanner(io.LimitReader(file, limit-from.offset), from.offset, 0)
	for {
		raw, err := lines.Next()
		if errors.Is(err, io.EOF) || (err == nil && raw.Torn) {
			return from, nil
		}
		if err != nil {
			return from, err
		}
		line, ok := readLine(raw.Raw)
		if !ok || line.Session != s.session || !numbered(line.Type) {
			from.offset = raw.Next
			continue
		}
		if !show(from.n, line) {
			return from, nil
		}
		from = mark{from.n + 1, raw.Next}
	}
}

// newest is the number of the newest draft in the log.
func (s *shipper) newest() (int64, error) {
	s.mu.Lock()
	from := s.at
	s.mu.Unlock()
	end, err := s.visit(from, func(int64, logLine) bool { return true })
	return end.n - 1, err
}

// oldest is how long the oldest draft has waited that is not sealed; 0 without one.
func (s *shipper) oldest(now time.Time) (age time.Duration) {
	s.mu.Lock()
	first := s.sealed + 1
	from := s.near(first)
	s.mu.Unlock()
	_, err := s.visit(from, func(n int64, line logLine) bool {
		if at, err := time.Parse(time.RFC3339Nano, line.At); n == first && err == nil {
			age = max(0, now.Sub(at))
		}
		return n < first
	})
	if err != nil {
		return 0 // who ships it says so
	}
	return age
}

// readLog opens a log of the spool.
func readLog(fsys durable.FS, name string) (durable.File, error) {
	return fsys.OpenFile(name, os.O_RDONLY, 0)
}
