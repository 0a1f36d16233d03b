package web

// The streams of run events.

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRunEvents checks the stream of a run: all events after the client's seq, then new ones.
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

// TestAllRunEvents checks the stream of all runs: the newest 50 events, then new ones, including
// those of new runs. With a project_id it sends only that project's events.
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

// TestResume interrupts streams of all runs while events arrive in old and new runs. A client that
// resumes from its last id gets every event once, even from another server.
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
				time.Sleep(2 * time.Millisecond) // so that streams break in between
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
		if turn == 5 { // another server takes over
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

// TestPlaces checks cursors over many runs, and texts that are not cursors.
func TestPlaces(t *testing.T) {
	t.Parallel()
	p := eventCursor{From: 1000}
	for n := range 3 * maxCursorRuns {
		p.pass(fmt.Sprintf("run_%d", n), 1, int64(500+n))
	}
	p.pass("run_old", 7, 1) // a late event with an old time
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

// TestLineEnds checks that white space in a log ends no frame.
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

// TestSlowReader sends many events to three streams, one of which does not read. The others get all
// events, and so does that one once it reads.
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
	if _, err := io.ReadFull(slow, buffer); err != nil { // now it is connected
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
