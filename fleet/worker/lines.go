package worker

// Reading the session's lines from the spool's log, for the shipper.

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

// isDraft reports whether events of this type in the spool are drafts. The hub itself writes the
// others.
func isDraft(kind string) bool {
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

// readLine parses a line in one scan. The payload aliases raw.
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

// visit calls show for the session's lines after a position, until the log ends or show returns
// false. It returns the position after the last shown line. It syncs lines before showing them: a
// published line lost in a power failure would leave a gap that nothing fills.
func (s *shipper) visit(from mark, show func(n int64, line logLine) bool) (mark, error) {
	to, _, _, err := s.read(from, 0, show)
	return to, err
}

// read is visit for a log that is known to be synced up to an offset. If that offset is after
// from, read stops there. It returns the offset up to which the log is now known to be synced, 0
// if unknown, and whether the log continues after the lines it read.
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

// syncedTo syncs a log. limit is how far the log may be read. stays is how far it will not
// change, 0 if the last line is torn: a torn line may be truncated and overwritten.
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

// lines calls show for the session's lines before limit.
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
		if !ok || line.Session != s.session || !isDraft(line.Type) {
			from.offset = raw.Next
			continue
		}
		if !show(from.n, line) {
			return from, nil
		}
		from = mark{from.n + 1, raw.Next}
	}
}

// newest returns the number of the newest draft in the log.
func (s *shipper) newest() (int64, error) {
	s.mu.Lock()
	from := s.at
	s.mu.Unlock()
	end, err := s.visit(from, func(int64, logLine) bool { return true })
	return end.n - 1, err
}

// oldest returns the age of the oldest unsealed draft, 0 if there is none.
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
		return 0 // shipping reports the error
	}
	return age
}

// readLog opens a log of the spool for reading.
func readLog(fsys durable.FS, name string) (durable.File, error) {
	return fsys.OpenFile(name, os.O_RDONLY, 0)
}
