package heartbeat

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ac/heartbeat/job"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/durable/faultfs"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestSchedule checks when the next tick is due.
func TestSchedule(t *testing.T) {
	t.Parallel()
	const every = 20 * time.Minute
	var s schedule
	due := func(want time.Duration) {
		t.Helper()
		if !s.due.Equal(noon().Add(want)) {
			t.Errorf("due %s, want %s", clock.Stamp(s.due), at(want))
		}
	}
	look := func(now, every time.Duration, moment string) { s.look(noon().Add(now), true, every, moment) }
	look(0, every, "")
	due(every)
	for i := range 100 { // requests never move it
		look(time.Duration(i)*50*time.Millisecond, every, "")
	}
	due(every)
	look(time.Minute, 40*time.Minute, "") // longer
	due(every)
	look(time.Minute, 5*time.Minute, "") // shorter
	due(6 * time.Minute)
	look(time.Minute, 5*time.Minute, at(time.Hour)) // the file takes precedence
	due(time.Hour)
	look(time.Minute, 5*time.Minute, at(time.Minute+time.Millisecond)) // not too soon
	due(time.Minute + soonest)
	look(time.Minute+200*time.Millisecond, 5*time.Minute, at(time.Minute+time.Millisecond)) // and it stays there
	due(time.Minute + soonest)
	look(2*time.Hour, 5*time.Minute, at(time.Hour+time.Second)) // already passed
	due(2*time.Hour + time.Minute)
	look(2*time.Hour+30*time.Second, 5*time.Minute, at(time.Hour+time.Second))
	due(2*time.Hour + time.Minute)
	s.fired(noon().Add(2*time.Hour + time.Minute)) // the files stay as they are
	due(2*time.Hour + 2*time.Minute)
	s.look(noon(), false, every, at(time.Hour))
	if !s.due.IsZero() {
		t.Error("a heartbeat that is off is scheduled")
	}
	look(3*time.Hour, every, "") // on again, long after the first observation
	due(3*time.Hour + time.Minute)
}

// loopIn creates a loop in a synctest bubble, over the real files of a workspace.
func loopIn(t *testing.T, dir string, jobs *fakeJobs) (*Loop, *workspace.Workspace) {
	t.Helper()
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	if !isThere(dir) {
		if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	ix := index.For(w)
	loop := NewLoop(Options{
		Clock: env.Clock, Dir: dir, Jobs: jobs,
		Open: func(context.Context) (*workspace.Workspace, *index.Index, error) { return w, ix, nil },
	})
	t.Cleanup(func() {
		loop.Close()
		if err := errors.Join(ix.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return loop, w
}

func isThere(dir string) bool {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	return err == nil && len(names) > 0
}

func ticks(t *testing.T, w *workspace.Workspace) int64 {
	t.Helper()
	state, err := ReadState(w)
	if err != nil {
		t.Fatal(err)
	}
	return state.Stats.TicksTotal
}

// TestLoop checks that the loop ticks at its interval, however often the workspace is observed.
func TestLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, w := loopIn(t, filepath.Join(t.TempDir(), "ws"), &fakeJobs{})
		loop.Observe(w)
		for range 21 * 60 * 2 {
			time.Sleep(500 * time.Millisecond)
			loop.Observe(w)
		}
		if n := ticks(t, w); n != 1 {
			t.Errorf("%d ticks in 21 minutes", n)
		}
		time.Sleep(3 * time.Hour) // no requests
		if n := ticks(t, w); n != 10 {
			t.Errorf("%d ticks", n)
		}
		if _, err := SetConfig(t.Context(), w, func(c *doc.HeartbeatConfig) { c.Enabled = false }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour) // the loop reads the file when it is due
		if n := ticks(t, w); n != 10 {
			t.Errorf("%d ticks of a heartbeat that is off", n)
		}
		if _, err := SetConfig(t.Context(), w, func(c *doc.HeartbeatConfig) { c.Enabled, c.TickIntervalMinutes = true, 1 }); err != nil {
			t.Fatal(err)
		}
		loop.Observe(w)
		time.Sleep(61 * time.Second)
		if n := ticks(t, w); n != 11 {
			t.Errorf("%d ticks", n)
		}
	})
}

// TestWorkspaceAway checks that the loop keeps ticking after the workspace was missing for a
// while, as when another tree replaces it, even if no heartbeat file changed meanwhile.
func TestWorkspaceAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loop, w := loopIn(t, filepath.Join(t.TempDir(), "ws"), &fakeJobs{})
		open, away := loop.opts.Open, errors.New("the workspace is away")
		var gone atomic.Bool
		loop.opts.Open = func(ctx context.Context) (*workspace.Workspace, *index.Index, error) {
			if gone.Load() {
				return nil, nil, away
			}
			return open(ctx)
		}
		loop.Observe(w)
		gone.Store(true)
		time.Sleep(21 * time.Minute)
		loop.mu.Lock() // asking for the status would set the timer
		failure := loop.failure
		loop.mu.Unlock()
		if !errors.Is(failure, away) {
			t.Errorf("the failure is %v", failure)
		}
		gone.Store(false)
		for range 4 * 60 {
			time.Sleep(500 * time.Millisecond)
			loop.Observe(w)
		}
		if n, last := ticks(t, w), loop.Status(w, "").Runtime.LastError; n != 1 || last != "" {
			t.Errorf("%d ticks, last error %q", n, last)
		}
	})
}

// TestTwoServers checks that two servers together tick once per interval.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "ws")
		one, w := loopIn(t, dir, &fakeJobs{})
		two, other := loopIn(t, dir, &fakeJobs{})
		one.Observe(w)
		two.Observe(other)
		time.Sleep(201 * time.Minute)
		if n := ticks(t, w); n != 10 {
			t.Errorf("%d ticks in ten intervals", n)
		}
	})
}

// TestJitter checks that each worker's job is submitted at its own time after the triage.
func TestJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		jobs := &fakeJobs{}
		loop, w := loopIn(t, filepath.Join(t.TempDir(), "ws"), jobs)
		project, err := w.NewProject(t.Context(), "P")
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{w: w, project: project}
		for _, name := range []string{"A", "B"} {
			id, err := w.NewAgent(t.Context(), workspace.AgentSpec{Name: name, Role: "worker", Provider: "claude"})
			if err != nil {
				t.Fatal(err)
			}
			s.happen(t, id)
		}
		if _, err := SetConfig(t.Context(), w, func(c *doc.HeartbeatConfig) {
			c.JitterMaxSeconds, c.QuietHoursStartHour, c.QuietHoursEndHour = 3600, 0, 0
		}); err != nil {
			t.Fatal(err)
		}
		loop.Observe(w)
		time.Sleep(2 * time.Hour)
		last := loop.Status(w, "").Runtime.LastTickSummary
		if last == nil || ticks(t, w) < 2 || jobs.started != 2 {
			t.Fatalf("%+v, %d started", last, jobs.started)
		}
		records, err := job.All(w, project)
		if err != nil || len(records) != 2 || records[0].CreatedAt == records[1].CreatedAt {
			t.Errorf("%+v, %v", records, err)
		}
	})
}
