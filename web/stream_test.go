package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/company"
	"ac/company/decisions"
	"ac/internal/lateness"
	"ac/snapshot"
)

// TestScreens pins the stream of screens: one at once, one after each change,
// whoever made it, with an id.
func TestScreens(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	r := f.open("/api/events")
	if r.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || r.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%v", r.header)
	}
	if first := <-r.frames; first.comment != "connected" {
		t.Errorf("begins with %+v", first)
	}
	first := r.next()
	if first.name != "snapshot" || first.id == "" || !strings.HasPrefix(first.data, `{"workspace_dir":`) {
		t.Errorf("%+v", first)
	}
	changes := []struct {
		name, shows string
		make        func()
	}{
		{"an event", `"run_1"`, func() { f.log("run_1", 1, 1) }},
		{"an artifact", `"art_1"`, func() { artifact(t, f.dir, "art_1", "T1") }},
		{"a title", `"title":"T2"`, func() { artifact(t, f.dir, "art_1", "T2") }},
		{"a line that is no event", `"parse_error_count":1`, func() {
			log, err := os.OpenFile(filepath.Join(f.dir, "work/projects/proj_a/runs/run_1/events.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = io.WriteString(log, "no event\n")
			}
			if err := errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
		}},
		{"a comment", `"body":"from elsewhere"`, func() {
			all := company.New(company.Options{Env: options("").Env})
			_, err := company.Do(t.Context(), all, decisions.Operations.AddComment, decisions.AddCommentParams{
				Dir: company.Dir{WorkspaceDir: f.dir}, ProjectID: project, AuthorID: "x", AuthorRole: "human", Body: "from elsewhere", TargetRunID: "run_1", Visibility: "org",
			})
			if err := errors.Join(err, all.Close()); err != nil {
				t.Fatal(err)
			}
		}},
		{"a decision", `"decision":"denied"`, func() { f.post("/api/ui/resolve", `{"artifact_id":"art_1","decision":"denied"}`) }},
	}
	for _, c := range changes {
		c.make()
		got := r.until(func(one sse) bool { return strings.Contains(one.data, c.shows) })
		if got.name != "snapshot" || got.id == first.id {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// source is a workspace of which screens are made up.
type source struct {
	taken   atomic.Int64
	state   atomic.Int64
	changed func()
	stopped atomic.Bool
	fails   atomic.Bool
}

func (s *source) screenSource() screenSource {
	return screenSource{
		take: func(context.Context) (snapshot.UI, error) {
			n := s.taken.Add(1)
			if s.fails.Load() {
				return snapshot.UI{}, errors.New("the disk is gone")
			}
			at := fmt.Sprintf("2026-01-02T00:00:%02d.000Z", n%60)
			ui := snapshot.UI{Header: snapshot.Header{WorkspaceDir: fmt.Sprint(s.state.Load()), GeneratedAt: at}}
			ui.Monitor.GeneratedAt, ui.Inbox.GeneratedAt, ui.Usage.GeneratedAt = at, at, at
			return ui, nil
		},
		watch: func(changed func()) (func(), error) {
			s.changed = changed
			s.stopped.Store(false)
			return func() { s.stopped.Store(true) }, nil
		},
	}
}

// TestCoalescing pins that a burst of changes is one screen, that a screen which
// is the same but for its time is none, and that nobody watches for nobody.
func TestCoalescing(t *testing.T) {
	t.Parallel()
	var from source
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := newScreen(ctx, from.screenSource())
	leave, err := s.join()
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.join()
	if err != nil {
		t.Fatal(err)
	}
	f := s.take(ctx)
	if same := s.take(ctx); same != f || from.taken.Load() != 2 {
		t.Error("the same screen is another frame")
	}
	began := time.Now()
	from.state.Store(1)
	for range 100 {
		from.changed()
	}
	select {
	case <-f.next:
	case <-time.After(patience):
		t.Fatal("no frame")
	}
	if took := time.Since(began); took < coalesce {
		t.Errorf("a frame after %v", took)
	}
	if n := from.taken.Load(); n != 3 {
		t.Errorf("%d screens for one burst", n-2)
	}
	f = s.newest()
	from.changed()
	for deadline := time.Now().Add(patience); from.taken.Load() < 4 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if s.take(ctx) != f {
		t.Error("a frame without a change")
	}
	leave()
	if from.stopped.Load() {
		t.Error("the watching ended with one of two")
	}
	again()
	if !from.stopped.Load() {
		t.Error("nobody looks, and it is watched")
	}
	if leave, err = s.join(); err != nil || from.stopped.Load() {
		t.Error("not watched again", err)
	}
	leave()
}

// TestScreenErrors pins that a screen which cannot be taken is told, once, and
// that the next one that can be taken is shown.
func TestScreenErrors(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	var from source
	from.fails.Store(true)
	f.screenOf(project).source = from.screenSource()
	r := f.open("/api/events")
	if got := r.next(); got.name != "error" || got.data != `{"message":"the disk is gone"}` || got.id == "" {
		t.Errorf("%+v", got)
	}
	from.fails.Store(false)
	if got := r.next(); got.name != "snapshot" { // it looks again by itself
		t.Errorf("%+v", got)
	}
	f.screenOf(project).source.watch = func(func()) (func(), error) { return nil, errors.New("no watches left") }
	r.cancel()
	for range r.frames {
	}
	for f.screenOf(project).reading() {
		time.Sleep(time.Millisecond)
	}
	if got := f.open("/api/events").next(); got.name != "error" || !strings.Contains(got.data, "no watches left") {
		t.Errorf("%+v", got)
	}
}

func (s *screen) reading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readers > 0
}

// TestKeepalive pins that an idle stream is kept alive.
func TestKeepalive(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.keepalive = 5 * time.Millisecond
	for _, path := range []string{"/api/events", "/api/stream?runs=1", "/api/stream?run_id=none"} {
		r := f.open(path)
		deadline := time.After(patience)
		for alive := 0; alive < 3; {
			select {
			case one := <-r.frames:
				if one.comment == "keepalive" {
					alive++
				}
			case <-deadline:
				t.Fatalf("%s: no keepalive", path)
			}
		}
	}
}

// TestRunEvents pins the stream of a run: everything behind the seq that the
// client has, then what comes.
func TestRunEvents(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 5)
	f.log("run_2", 1, 5)
	for _, c := range []struct {
		path, last string
		from       int
	}{
		{"/api/stream?run_id=run_1", "", 1}, {"/api/stream?run_id=run_1&since_seq=3", "", 4}, {"/api/stream?run_id=run_1&since_seq=1", "Last-Event-ID: 4", 5},
		{"/api/stream?run_id=run_1&since_seq=3", "Last-Event-ID: nonsense", 4}, {"/api/stream?run_id=run_1&since_seq=99", "", 1},
	} {
		r := f.open(c.path, orX(c.last))
		for seq := c.from; seq <= 5; seq++ {
			one := r.next()
			if e := eventOf(t, one); e.Run != "run_1" || e.Project != project || e.Seq != seq || one.id != fmt.Sprint(seq) ||
				!strings.Contains(string(e.Event), fmt.Sprintf(`"evt_run_1_%d"`, seq)) {
				t.Errorf("%s %s: %+v", c.path, c.last, one)
			}
		}
	}
	r := f.open("/api/stream?run_id=run_1&since_seq=5")
	f.log("run_2", 6, 6)
	f.log("run_1", 6, 6)
	if e := eventOf(t, r.next()); e.Seq != 6 || e.Run != "run_1" {
		t.Errorf("%+v", e)
	}
}

// TestAllRunEvents pins the stream of all runs: the newest first, then what
// comes, new runs too, of one project where that is asked for.
func TestAllRunEvents(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 80)
	r := f.open("/api/stream?runs=1")
	other := f.open("/api/stream?runs=1&project_id=proj_b")
	for seq := 31; seq <= 80; seq++ {
		if e := eventOf(t, r.next()); e.Seq != seq {
			t.Fatalf("seq %d, want %d", e.Seq, seq)
		}
	}
	appendEvents(t, f.dir, "proj_b", "run_b", 1, 1)
	if e := eventOf(t, r.next()); e.Run != "run_b" || e.Project != "proj_b" {
		t.Errorf("%+v", e)
	}
	if e := eventOf(t, other.next()); e.Run != "run_b" {
		t.Errorf("%+v", e)
	}
}

// TestResume breaks streams of all runs again and again while events come, in
// old and in new runs: a client that says what it had last gets every event
// once, also from the next server.
func TestResume(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	const runs, each = 4, 60
	f.log("run_old", 1, 70)
	r := f.open("/api/stream?runs=1")
	first := r.next()
	seen := map[string][]int{"run_old": {eventOf(t, first).Seq}}
	last := first.id
	r.cancel()
	var writers sync.WaitGroup
	for n := range runs {
		writers.Go(func() {
			for i := 1; i <= each; i += 3 {
				f.log(fmt.Sprintf("run_%d", n), i, i+2)
				time.Sleep(2 * time.Millisecond) // so that streams break between
			}
		})
	}
	defer writers.Wait()
	complete := func() bool {
		for n := range runs {
			if got := seen[fmt.Sprintf("run_%d", n)]; len(got) == 0 || got[len(got)-1] < each {
				return false
			}
		}
		old := seen["run_old"]
		return old[len(old)-1] == 70
	}
	server := f
	for turn := 1; !complete(); turn++ {
		if turn == 5 { // another server goes on
			writers.Wait()
			server = serve(t, f.dir)
		}
		r := server.open("/api/stream?runs=1", "Last-Event-ID: "+last)
		for n := 0; n < 7*turn && !complete(); n++ {
			one := r.next()
			e := eventOf(t, one)
			seen[e.Run], last = append(seen[e.Run], e.Seq), one.id
		}
		r.cancel()
	}
	for run, got := range seen {
		from := 1
		if run == "run_old" {
			from = 21
		}
		for i, seq := range got {
			if seq != from+i {
				t.Fatalf("%s: %v", run, got)
			}
		}
	}
}

// TestPlaces pins places of many runs, and what is no place.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := eventCursor{From: 1000}
	for n := range 3 * maxCursorRuns {
		p.pass(fmt.Sprintf("run_%d", n), 1, int64(500+n))
	}
	p.pass("run_old", 7, 1) // an event of an old program
	got, ok := parseCursor(p.String())
	if !ok || len(got.Runs) != maxCursorRuns || got.From != p.From || got.From < 500+2*maxCursorRuns || got.since()["run_old"] != 7 {
		t.Errorf("%v %+v", ok, got)
	}
	if len(p.String()) > 8<<10 {
		t.Errorf("a place of %d bytes", len(p.String()))
	}
	for _, text := range []string{"", "x", "5", "e30", "bnVsbA", "eyJ0IjoxfQ=="} {
		if _, ok := parseCursor(text); ok {
			t.Errorf("%q is a place", text)
		}
	}
	early := eventCursor{From: 1000}
	early.pass("a", 1, 400)
	early.pass("b", 1, 1)
	if early.From != 400 {
		t.Errorf("From %d", early.From)
	}
}

// TestLineEnds pins that white space in a log ends no frame.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	write(t, f.dir, "work/projects/proj_a/runs/run_1/events.jsonl", "{\"run_id\":\"run_1\",\r\"type\":\"note\"\r,\"text\":\"a\\r\\nb\u2028\"}\r\n")
	r := f.open("/api/stream?run_id=run_1")
	var event struct{ Text string }
	mustJSON(t, string(eventOf(t, r.next()).Event), &event)
	if event.Text != "a\r\nb\u2028" {
		t.Errorf("%q", event.Text)
	}
}

// TestSlowReader sends many events to three streams of which one does not read:
// the others get them all, and so does that one when it begins.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	const total = 3000
	slow, err := net.Dial("tcp", f.hostport())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /api/stream?runs=1 HTTP/1.1\r\nHost: "+f.hostport()+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	fast := []*reader{f.open("/api/stream?runs=1"), f.open("/api/stream?runs=1")}
	screens := f.open("/api/events")
	buffer := make([]byte, 16)
	if _, err := io.ReadFull(slow, buffer); err != nil { // it is connected
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 1; n <= total; n += 100 {
			f.log("run_1", n, n+99)
		}
	})
	for _, r := range fast {
		for seq := 1; seq <= total; seq++ {
			if e := eventOf(t, r.next()); e.Seq != seq {
				t.Fatalf("seq %d, want %d", e.Seq, seq)
			}
		}
	}
	writing.Wait()
	screens.until(func(one sse) bool { return strings.Contains(one.data, `"run_1"`) })
	_ = slow.SetDeadline(time.Now().Add(patience))
	var text strings.Builder
	for piece := make([]byte, 64<<10); !strings.Contains(text.String(), fmt.Sprintf(`"seq":%d,`, total)); {
		n, err := slow.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(piece[:n])
	}
	if n := strings.Count(text.String(), "event: run\n"); n != total {
		t.Errorf("%d events, want %d", n, total)
	}
}

// TestEnd pins that the server ends in two seconds, with streams that are read
// and that are not, connections that are kept, and half a request.
func TestEnd(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	readers := []*reader{f.open("/api/events"), f.open("/api/stream?runs=1"), f.open("/api/stream?run_id=x")}
	f.get("/api/health") // kept alive
	var conns []net.Conn
	for _, text := range []string{
		"GET /api/stream?run_id=run_1 HTTP/1.1\r\nHost: " + f.hostport() + "\r\n\r\n", "GET /api/events HTTP/1.1\r\nHost: " + f.hostport() + "\r\n\r\n",
		"", "GET / HT", "POST /api/call HTTP/1.1\r\nHost: " + f.hostport() + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		c, err := net.Dial("tcp", f.hostport())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	f.log("run_1", 1, 20000) // more than a connection takes that is not read
	for _, r := range readers[:2] {
		r.next()
	}
	late, began := lateness.Measure(), time.Now()
	if err := f.end(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second+late() && !raced {
		t.Errorf("ended after %v", took)
	}
	for _, r := range readers {
		for range r.frames { // until it is closed
		}
	}
	for _, c := range slices.Backward(conns) {
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection is open still")
		}
	}
}

// TestTwoServers pins that servers on one workspace see each other's work, and
// that one address is for one of them.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	a := newServer(t)
	b := serve(t, a.dir)
	r := b.open("/api/events")
	r.next()
	a.post("/api/comments", `{"body":"by the other","target_agent_id":"x"}`)
	r.until(func(one sse) bool { return strings.Contains(one.data, "by the other") })
	o := options(a.dir)
	o.Port = int(portOf(a.listener))
	if _, err := Listen(t.Context(), o); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("one address for two: %v", err)
	}
}

// TestNoWorkspace pins that there is nothing to serve without one.
func TestNoWorkspace(t *testing.T) {
	t.Parallel()
	if _, err := Listen(t.Context(), options(t.TempDir())); err == nil || !strings.Contains(err.Error(), "is not a workspace") {
		t.Errorf("%v", err)
	}
	f := newServer(t, func(o *Options) { o.RefreshIndex = true })
	if err := os.Remove(filepath.Join(f.dir, "company/company.yaml")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/health", "/api/ui/snapshot"} {
		if got := f.get(path); got.status != 503 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := f.open("/api/events").next(); got.name != "error" {
		t.Errorf("%+v", got)
	}
}
