package web

// The stream of screens.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ac/company"
	"ac/company/decisions"
	"ac/snapshot"
)

// TestScreens checks that the stream of screens sends one screen at once and one after each change,
// whoever made it, each with an id.
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

// source is a fake workspace that supplies screens.
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

// TestCoalescing checks that a burst of changes yields one frame, that a screen which differs only
// in its time yields none, and that watching stops with the last reader.
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

// TestScreenErrors checks that the stream reports a failed screen once, and recovers by itself.
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
	if got := r.next(); got.name != "snapshot" { // the stream retries by itself
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

// TestKeepalive checks that idle streams send keepalives.
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
