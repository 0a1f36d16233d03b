package events_test

// Logs on a failing disk.

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/durable/faultfs"
	"ac/internal/ulid"
)

const logName = "events.jsonl"

func source() events.Source {
	c := clock.System()
	return events.Source{Clock: c, NewID: ulid.NewSource(c.Now).New}
}

func drafts(t *testing.T, n int) (made []events.Draft) {
	t.Helper()
	src := source()
	for range n {
		d, err := src.Draft(events.Draft{RunID: "r", SessionRef: "s", Actor: "a", Visibility: "org", Type: "x.y"}, map[string]int{"n": n})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, d)
	}
	return made
}

// failingLog opens a log over a plan of faults, which is not armed yet.
func failingLog(t *testing.T) (*events.Log, *faultfs.Plan, string) {
	t.Helper()
	dir := t.TempDir()
	plan := faultfs.NewPlan(0, faultfs.Broken)
	fsys, err := plan.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := events.OpenLog(fsys, logName)
	t.Cleanup(func() {
		if err := errors.Join(log.Close(), fsys.Close()); err != nil {
			t.Error(err)
		}
	})
	return log, plan, filepath.Join(dir, logName)
}

// ids lists the events of a log. The log must be one chain, except for torn lines, of
// which there may be as many as given.
func ids(t *testing.T, file string, torn int) (found []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report, err := events.Verify(bytes.NewReader(text), nil, false, nil)
	if err != nil || len(report.VerificationIssues) > 0 || len(report.ParseIssues) > torn {
		t.Errorf("%+v (%v)", report, err)
	}
	for line := range strings.Lines(string(text)) {
		if id := events.Text([]byte(line), "event_id"); id != "" {
			found = append(found, id)
		}
	}
	return found
}

// TestAppendUnderFaults fails every call of an append in every way, and appends again
// through the same Log and through another one. No acknowledged event is lost, the
// chain does not fork, and the lock is released.
func TestAppendUnderFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late} {
		for n := 1; ; n++ {
			log, plan, file := failingLog(t)
			first, second, third := drafts(t, 2), drafts(t, 3), drafts(t, 1)
			if err := log.Append(t.Context(), first...); err != nil {
				t.Fatal(err)
			}
			plan.Arm(n, kind)
			failure := log.Append(t.Context(), second...)
			hit := plan.Hit()
			plan.Arm(0, kind)
			if hit == "" {
				break
			}
			other, err := plan.Open(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			beside := events.OpenLog(other, logName)
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the lock is kept"))
			if err := beside.Append(ctx, drafts(t, 1)...); err != nil {
				t.Errorf("%s: another Log: %v (the append gave: %v)", hit, err, failure)
			}
			cancel()
			if err := errors.Join(log.Append(t.Context(), third...), beside.Close(), other.Close()); err != nil {
				t.Errorf("%s: afterwards: %v", hit, err)
			}
			found := strings.Join(ids(t, file, 1), " ")
			want := slices.Concat(first, third)
			if failure == nil {
				want = append(want, second...)
			}
			for _, d := range want {
				if strings.Count(found, d.ID) != 1 {
					t.Errorf("%s: event %s is there %d times", hit, d.ID, strings.Count(found, d.ID))
				}
			}
		}
	}
}

// failAt fails one call of an operation on a log with one event. A prefix of its
// description selects the call.
func failAt(t *testing.T, call string, kind faultfs.Kind, do func(*events.Log) error) (*events.Log, *faultfs.Plan, string, error) {
	t.Helper()
	for n := 1; n < 100; n++ {
		log, plan, file := failingLog(t)
		if err := log.Append(t.Context(), drafts(t, 1)...); err != nil {
			t.Fatal(err)
		}
		plan.Arm(n, kind)
		failure := do(log)
		hit := plan.Hit()
		plan.Arm(0, kind)
		if strings.Contains(hit, ", "+call) {
			return log, plan, file, failure
		}
	}
	t.Fatalf("there is no call %q", call)
	return nil, nil, "", nil
}

// TestPartialWrite checks that a partial write reports how many events it wrote, so
// that a retry of the rest duplicates no line.
func TestPartialWrite(t *testing.T) {
	t.Parallel()
	batch := drafts(t, 6)
	log, _, file, failure := failAt(t, "write", faultfs.Short, func(log *events.Log) error { return log.Write(t.Context(), batch...) })
	partial, ok := errors.AsType[*events.PartialError](failure)
	if !ok || partial.Written != 3 || !errors.Is(failure, syscall.ENOSPC) {
		t.Fatalf("%+v", failure)
	}
	if err := log.Append(t.Context(), batch[partial.Written:]...); err != nil {
		t.Fatal(err)
	}
	found := ids(t, file, 1)
	if len(found) != 7 {
		t.Errorf("%d events: %v", len(found), found)
	}
	for i, d := range batch {
		if found[1+i] != d.ID {
			t.Errorf("event %d is %s, not %s", i, found[1+i], d.ID)
		}
	}
}

// TestFailedSync checks what a failed sync means. It fails the appends that wait for
// it. The next append reopens the file and reads its tail, here after another program
// has written.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	log, plan, file, failure := failAt(t, "sync "+logName, faultfs.Broken, func(log *events.Log) error {
		return log.Append(t.Context(), drafts(t, 1)...)
	})
	if !errors.Is(failure, syscall.EIO) {
		t.Fatalf("the append gave %v", failure)
	}
	if err := log.Sync(); err == nil {
		t.Error("a later sync acknowledges what a failed one has lost")
	}
	other := events.OpenLog(mustOpen(t, file), logName)
	if err := errors.Join(other.Append(t.Context(), drafts(t, 1)...), other.Close()); err != nil {
		t.Fatal(err)
	}
	plan.Arm(1, faultfs.Broken)
	if err := log.Append(t.Context(), drafts(t, 1)...); err == nil || !strings.Contains(plan.Hit(), "open") {
		t.Errorf("the file was not opened anew: %s (%v)", plan.Hit(), err)
	}
	plan.Arm(0, faultfs.Broken)
	if err := log.Append(t.Context(), drafts(t, 1)...); err != nil {
		t.Fatal(err)
	}
	if found := ids(t, file, 0); len(found) != 4 {
		t.Errorf("%d events", len(found))
	}
}

func mustOpen(t *testing.T, file string) durable.FS {
	t.Helper()
	fsys, err := faultfs.NewPlan(0, faultfs.Broken).Open(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fsys.Close(); err != nil {
			t.Error(err)
		}
	})
	return fsys
}

// TestFailedSyncOfMany fails one call after the other, syncs among them, while several
// writers append. Each acknowledged event must be in the log exactly once.
func TestFailedSyncOfMany(t *testing.T) {
	t.Parallel()
	for n := 1; n < 40; n++ {
		log, plan, file := failingLog(t)
		plan.Arm(n, faultfs.Broken)
		var mu sync.Mutex
		var acknowledged []string
		var writers sync.WaitGroup
		for range 4 {
			made := drafts(t, 3)
			writers.Go(func() {
				for _, d := range made {
					if log.Append(t.Context(), d) == nil {
						mu.Lock()
						acknowledged = append(acknowledged, d.ID)
						mu.Unlock()
					}
				}
			})
		}
		writers.Wait()
		found := strings.Join(ids(t, file, 0), " ")
		for _, id := range acknowledged {
			if strings.Count(found, id) != 1 {
				t.Errorf("%s: %s is there %d times", plan.Hit(), id, strings.Count(found, id))
			}
		}
	}
}

// TestCloseBesideSync closes a log repeatedly while others append to it. A writer that waits for
// a sync must still have an open file.
func TestCloseBesideSync(t *testing.T) {
	t.Parallel()
	log, _, file := failingLog(t)
	var writers sync.WaitGroup
	const each = 40
	for range 4 {
		made := drafts(t, each)
		writers.Go(func() {
			for _, d := range made {
				if err := log.Append(t.Context(), d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { writers.Wait(); close(over) }()
	for closing := true; closing; {
		select {
		case <-over:
			closing = false
		default:
			runtime.Gosched()
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	if found := ids(t, file, 0); len(found) < 4*each {
		t.Errorf("%d events", len(found))
	}
}
