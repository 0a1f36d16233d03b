package web

// Server-sent events: the screen after each change, and the events of runs.

import (
	"compress/gzip"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ac/company"
	"ac/events"
	"ac/feed"
	"ac/governance/needs"
	"ac/internal/canonjson"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/transcript"
	"ac/snapshot"
)

// newestRunEvents is the number of backfilled events in a stream of all runs.
const newestRunEvents = 50

const (
	// streamLevel is the gzip level of streams. Each open stream holds a compression window.
	streamLevel = 4
	// stalled is how long a client may accept nothing of a write before it is disconnected.
	stalled = 20 * time.Second
)

// stream is a streamed answer. It is not safe for concurrent use.
type stream struct {
	w       http.ResponseWriter
	packed  *gzip.Writer // nil for a client that does not accept gzip
	control *http.ResponseController
	cut     func() bool
	limit   func() // sets the time limit of the next write
}

// open begins a stream, compressed if the client accepts that. It disconnects a client that accepts
// nothing for the stalled time, and every client at shutdown. A slow client blocks no one else.
func (s *Server) open(w http.ResponseWriter, r *http.Request) (*stream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Add("Vary", "Accept-Encoding")
	out := &stream{w: w, control: http.NewResponseController(w)}
	out.limit = func() {
		if s.live.Err() == nil {
			_ = out.control.SetWriteDeadline(s.opts.Env.Clock.Now().Add(s.stalled)) // unsupported by test recorders
		}
	}
	if takesGzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		out.packed, _ = gzip.NewWriterLevel(w, streamLevel) // the level is valid
	}
	out.limit()
	out.cut = context.AfterFunc(s.live, func() { _ = out.control.SetWriteDeadline(time.Unix(1, 0)) })
	w.WriteHeader(http.StatusOK)
	return out, out.send([]byte(": connected\n\n"))
}

// close stops cutting the connection at shutdown.
func (o *stream) close() { o.cut() }

// send sends a text and flushes it.
func (o *stream) send(text []byte) error {
	o.limit()
	if o.packed == nil {
		if _, err := o.w.Write(text); err != nil {
			return err
		}
		return o.control.Flush()
	}
	if _, err := o.packed.Write(text); err != nil {
		return err
	}
	if err := o.packed.Flush(); err != nil {
		return err
	}
	return o.control.Flush()
}

// events sends the screen at once, and again after each change.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	_, project, err := s.inProject(r)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return s.headOfStream(w)
	}
	out, err := s.open(w, r)
	if err != nil {
		return nil // the client has disconnected
	}
	defer out.close()
	screen := s.screenOf(project)
	leave, err := screen.join()
	if err != nil {
		_ = out.send(frameOf(snapshot.UI{}, err).text) // the client then reconnects
		return nil
	}
	defer leave()
	ticker := time.NewTicker(s.keepalive)
	defer ticker.Stop()
	shown := ""
	for f := screen.take(s.live); ; f = screen.newest() {
		if f.key != shown {
			shown = f.key
			if out.send(f.text) != nil {
				return nil
			}
		}
		if !s.waitFor(r, out, ticker, f.next) {
			return nil
		}
	}
}

// headOfStream answers HEAD.
func (s *Server) headOfStream(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return nil
}

// waitFor sends keepalives until next is closed. It returns false if the stream has ended.
func (s *Server) waitFor(r *http.Request, out *stream, ticker *time.Ticker, next <-chan struct{}) bool {
	for {
		select {
		case <-next:
			return true
		case <-r.Context().Done():
			return false
		case <-s.live.Done():
			return false
		case <-ticker.C:
			if out.send([]byte(": keepalive\n\n")) != nil {
				return false
			}
		}
	}
}

// runEvents is what a client subscribes to.
type runEvents struct {
	company.EventStream
	cursor eventCursor
	talk   bool // also notify of conversations
	mask   *streamMask
	lines  *lastLines
}

// stream sends the events of one run or of all, or the transcript of one run.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) error {
	query, err := queryOf(r)
	if err != nil {
		return err
	}
	switch query.Get("view") {
	case "", "events":
		return s.runEvents(w, r, query)
	case viewTranscript:
		return s.transcript(w, r, query)
	}
	return fault.InvalidField("view", "must be events or transcript")
}

// runEvents sends the events of one run, or of all.
func (s *Server) runEvents(w http.ResponseWriter, r *http.Request, query url.Values) error {
	asked, err := s.asked(query, r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if asked.mask, err = s.maskOf(r, query); err != nil {
		return err
	}
	if asked.RunID == "" {
		asked.mask = newStreamMask() // for all runs, always
	}
	if r.Method == http.MethodHead {
		return s.headOfStream(w)
	}
	frames := make(chan []byte)
	asked.Deliver = func(ctx context.Context, e feed.Event) error {
		select {
		case frames <- asked.frame(e):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c, err := s.folder.Enter(r.Context())
	if err != nil {
		return err
	}
	stop, err := c.Follow(r.Context(), asked.EventStream)
	if err != nil {
		return err
	}
	defer stop()
	said := make(chan struct{}, 1)
	if asked.talk {
		unwatch, err := c.WatchTalk(r.Context(), asked.ProjectID, func() {
			select {
			case said <- struct{}{}:
			default: // a notification is already pending
			}
		})
		if err != nil {
			return err
		}
		defer unwatch()
	}
	out, err := s.open(w, r)
	if err != nil {
		return nil // the client has disconnected
	}
	defer out.close()
	s.pass(r, out, frames, said)
	return nil
}

// pass sends frames and notifications of conversations until the stream ends.
func (s *Server) pass(r *http.Request, out *stream, frames <-chan []byte, said <-chan struct{}) {
	ticker := time.NewTicker(s.keepalive)
	defer ticker.Stop()
	for {
		var text []byte
		select {
		case text = <-frames:
		case <-said:
			text = []byte("event: talk\ndata: {}\n\n") // no id: nothing resumes from it
		case <-ticker.C:
			text = []byte(": keepalive\n\n")
		case <-r.Context().Done():
			return
		case <-s.live.Done():
			return
		}
		if out.send(text) != nil {
			return
		}
	}
}

// asked reads what a client subscribes to, and its cursor if it has one.
func (s *Server) asked(query url.Values, last string) (a *runEvents, err error) {
	a = &runEvents{}
	if a.ProjectID, err = idOf(query, "project_id"); err != nil {
		return nil, err
	}
	if a.RunID, err = idOf(query, "run_id"); err != nil {
		return nil, err
	}
	if a.talk = flagOf(query, "talk", false); a.talk && a.ProjectID == "" {
		return nil, fault.InvalidField("project_id", "is needed with talk")
	}
	if flagOf(query, "lines", false) {
		a.lines = &lastLines{folds: map[string]*transcript.Fold{}}
	}
	if a.RunID == "" {
		var known bool
		if a.cursor, known = parseCursor(last); known {
			a.Since, a.After = a.cursor.since(), time.UnixMilli(a.cursor.From)
			return a, nil
		}
		a.cursor = eventCursor{From: s.opts.Env.Clock.Now().UnixMilli()}
		a.Backfill = newestRunEvents
		return a, nil
	}
	seq, err := sinceOf(query, last)
	a.Since = map[string]int64{a.RunID: seq}
	return a, err
}

// sinceOf returns the seq that a client of one run has: the one in the query, or else its last
// event id.
func sinceOf(query url.Values, last string) (seq int64, err error) {
	if given := query.Get("since_seq"); given != "" {
		if seq, err = strconv.ParseInt(given, 10, 64); err != nil || seq < 0 {
			return 0, fault.InvalidField("since_seq", "must be a whole number of at least 0")
		}
	}
	if given, err := strconv.ParseInt(last, 10, 64); err == nil && given >= 0 {
		seq = given
	}
	return seq, nil
}

// frame returns the text of an event. Its id is the client's new cursor.
func (a *runEvents) frame(e feed.Event) []byte {
	id := strconv.FormatInt(e.Seq, 10)
	if a.RunID == "" {
		at, ok := clock.Parse(events.Text(e.Raw, "ts_wallclock"))
		moment := int64(0)
		if ok {
			moment = at.UnixMilli()
		}
		a.cursor.pass(e.Run, e.Seq, moment)
		id = a.cursor.String()
	}
	body := append(canonjson.AppendString([]byte(`{"project_id":`), e.Project), `,"run_id":`...)
	body = append(canonjson.AppendString(body, e.Run), `,"seq":`...)
	body = strconv.AppendInt(body, e.Seq, 10)
	if line := needs.Line(a.lines.after(e)); line != "" {
		body = canonjson.AppendString(append(body, `,"line":`...), line)
	}
	body = append(append(body, `,"event":`...), a.mask.value(e.Raw)...)
	return event("run", id, append(body, '}'))
}
