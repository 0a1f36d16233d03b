package index

// Events and parse errors: the rows hold offsets, the texts come from the logs.
//
// A log may have changed since it was indexed. Each row has the length and the CRC-32C of its
// line. The bytes at its offset are returned only if both match, and if a line begins there and
// ends after them. A row that no longer matches is left out: its line is no longer in the log,
// and the next sync removes the row.

import (
	"database/sql"
	"errors"
	"io"
	"path"
	"slices"

	"ac/events"
	"ac/index/source"
	"ac/internal/durable"
	"ac/workspace"
)

// Event is a row of index.list_events.
type Event struct {
	ProjectID     string  `json:"project_id"`
	RunID         string  `json:"run_id"`
	Seq           int64   `json:"seq"`
	Type          string  `json:"type"`
	TSWallclock   *string `json:"ts_wallclock"`
	TSMonotonicMS *int64  `json:"ts_monotonic_ms"`
	Actor         *string `json:"actor"`
	SessionRef    *string `json:"session_ref"`
	Visibility    *string `json:"visibility"`
	PayloadJSON   string  `json:"payload_json"`
	RawJSON       string  `json:"raw_json"`
}

// EventFilter selects events; empty fields match all. SinceSeq excludes events up to and
// including that seq. Use it with RunID.
type EventFilter struct {
	ProjectID string
	RunID     string
	Types     []string
	SinceSeq  int64
	Limit     int
	Ascending bool
}

// EventLocation is the location of an event: Length bytes, without LF, at Offset in the log
// events.jsonl, in directory Dir of its project's runs.
type EventLocation struct {
	ProjectID string
	RunID     string
	Dir       string
	Seq       int64
	Offset    int64
	Length    int64
	at        int64 // time in Unix nanoseconds, or source.NoTime
	sum       uint32
}

// At returns the wall-clock time of the event as clock.Nanos, if it has one.
func (p EventLocation) At() (ns int64, ok bool) { return p.at, p.at != source.NoTime }

// Log returns the path of the event's log in the workspace.
func (p EventLocation) Log() string { return workspace.LogFile(p.ProjectID, p.Dir) }

// Events lists events. Those of one run are in log order. Others are in order of time, then
// seq, then project and run.
func (v *View) Events(f EventFilter) ([]Event, error) {
	places, err := v.Locations(f)
	if err != nil {
		return nil, err
	}
	logs := newLogTexts(v.w)
	defer logs.close()
	list := make([]Event, 0, len(places))
	for _, p := range places {
		raw, ok := logs.text(p, p.Length)
		if !ok {
			continue
		}
		var e source.Event
		if e.Parse(raw) != 0 {
			continue
		}
		list = append(list, rowOf(&e, p, raw))
	}
	return list, nil
}

func rowOf(e *source.Event, p EventLocation, raw []byte) Event {
	row := Event{
		ProjectID: p.ProjectID, RunID: p.RunID, Seq: p.Seq, Type: string(e.Kind.Text), TSWallclock: e.TS.Pointer(), Actor: e.Actor.Pointer(),
		SessionRef: e.Session.Pointer(), Visibility: e.Visibility.Pointer(), PayloadJSON: source.CompactPayload(e.Payload), RawJSON: string(raw),
	}
	if e.HasMono {
		row.TSMonotonicMS = &e.Mono
	}
	return row
}

const placeColumns = "r.project_id, r.run_id, r.dir, e.seq, e.offset, e.length, e.at, e.sum"

func scanLocation(rows *sql.Rows, p *EventLocation) error {
	var sum int32
	err := rows.Scan(&p.ProjectID, &p.RunID, &p.Dir, &p.Seq, &p.Offset, &p.Length, &p.at, &sum)
	p.sum = uint32(sum)
	return err
}

// locationsOfRun lists the events of a run ID. Several runs have it if projects share the ID.
func (v *View) locationsOfRun(f EventFilter) ([]EventLocation, error) {
	var c conditions
	if len(f.Types) > 0 {
		args := make([]any, len(f.Types))
		for i, t := range f.Types {
			args[i] = t
		}
		c.add("e.type IN (SELECT id FROM ac_words WHERE word IN "+placeholders(len(args))+")", args...)
	}
	var of conditions
	of.equal("run_id", f.RunID)
	of.equal("project_id", f.ProjectID)
	runs, err := query(v, "SELECT id FROM ac_runs"+of.text+" ORDER BY project_id", of.args, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
	if err != nil {
		return nil, err
	}
	order := " ORDER BY e.id" + limitClause
	if !f.Ascending {
		slices.Reverse(runs)
		order = " ORDER BY e.id DESC" + limitClause
	}
	found := []EventLocation{}
	for _, run := range runs {
		in := conditions{c.text, slices.Clone(c.args)}
		in.add("e.id>? AND e.id<?", eventKey(run, f.SinceSeq), eventKey(run+1, 0))
		left := limit(f.Limit)
		if left > 0 {
			if left -= len(found); left <= 0 {
				break
			}
		}
		some, err := query(v, "SELECT "+placeColumns+" FROM ac_events e CROSS JOIN ac_runs r ON r.id=e.id>>36"+in.text+order, append(in.args, left), scanLocation)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

// ParseError is a row of index.list_event_parse_errors.
type ParseError struct {
	ProjectID string `json:"project_id"`
	RunID     string `json:"run_id"`
	Seq       int64  `json:"seq"`
	Error     string `json:"error"`
	RawLine   string `json:"raw_line"`
}

// ParseErrorFilter selects parse errors; empty fields match all.
type ParseErrorFilter struct {
	ProjectID string
	RunID     string
	Limit     int
}

type faultPlace struct {
	EventLocation
	fault int64
}

// ParseErrors lists lines that are not events, by run and seq, both descending. It truncates
// long lines.
func (v *View) ParseErrors(f ParseErrorFilter) ([]ParseError, error) {
	var c conditions
	c.equal("r.project_id", f.ProjectID)
	c.equal("r.run_id", f.RunID)
	places, err := query(v, "SELECT r.project_id, r.run_id, r.dir, e.seq, e.offset, e.length, e.sum, e.error FROM ac_runs r JOIN ac_event_parse_errors e ON e.id>(r.id<<36) AND e.id<((r.id+1)<<36)"+
		c.text+" ORDER BY r.run_id DESC, e.seq DESC, r.project_id"+limitClause, append(c.args, limit(f.Limit)),
		func(rows *sql.Rows, p *faultPlace) error {
			var sum int32
			err := rows.Scan(&p.ProjectID, &p.RunID, &p.Dir, &p.Seq, &p.Offset, &p.Length, &sum, &p.fault)
			p.sum = uint32(sum)
			return err
		})
	if err != nil {
		return nil, err
	}
	logs := newLogTexts(v.w)
	defer logs.close()
	list := make([]ParseError, 0, len(places))
	for _, p := range places {
		length := p.Length
		if p.fault == source.FaultTooLong {
			length = min(length, events.LongStart)
		}
		if raw, ok := logs.text(p.EventLocation, length); ok {
			list = append(list, ParseError{p.ProjectID, p.RunID, p.Seq, source.FaultText(p.fault), string(raw[:min(len(raw), source.MaxRaw)])})
		}
	}
	return list, nil
}

// logTexts reads pieces of logs. It keeps the last log open.
type logTexts struct {
	fsys    durable.FS
	project string
	runs    *durable.Dir
	dir     string
	log     durable.File
}

func newLogTexts(w *workspace.Workspace) *logTexts { return &logTexts{fsys: w.FS} }

func (l *logTexts) close() {
	l.closeLog()
	if l.runs != nil {
		_ = l.runs.Close() // opened for reading only
		l.runs = nil
	}
}

func (l *logTexts) closeLog() {
	if l.log != nil {
		_ = l.log.Close() // opened for reading only
		l.log = nil
	}
}

func (l *logTexts) open(project, dir string) durable.File {
	if l.log != nil && l.project == project && l.dir == dir {
		return l.log
	}
	l.closeLog()
	if l.runs == nil || l.project != project {
		if l.runs != nil {
			_ = l.runs.Close() // opened for reading only
		}
		l.runs, _ = durable.OpenDir(l.fsys, workspace.RunsDir(project)) // a missing directory is the same as one without logs
	}
	l.project, l.dir = project, dir
	if l.runs == nil {
		return nil
	}
	run, err := l.runs.Sub(dir)
	if err != nil {
		return nil
	}
	defer run.Close()
	if l.log, err = run.Open(path.Base(workspace.LogFile(project, dir))); err != nil {
		l.log = nil
	}
	return l.log
}

// text returns the first length bytes of the line at a place, if the line is still the one that
// was indexed.
func (l *logTexts) text(p EventLocation, length int64) ([]byte, bool) {
	log := l.open(p.ProjectID, p.Dir)
	if log == nil {
		return nil, false
	}
	before := min(p.Offset, 1)
	block := make([]byte, before+length+1)
	n, err := log.ReadAt(block, p.Offset-before)
	if int64(n) < before+length || (err != nil && !errors.Is(err, io.EOF)) {
		return nil, false
	}
	if before == 1 && block[0] != '\n' {
		return nil, false
	}
	if length == p.Length && n == len(block) && block[n-1] != '\n' {
		return nil, false
	}
	raw := block[before : before+length]
	return raw, source.LineSum(raw) == p.sum
}
