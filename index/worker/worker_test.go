package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ac/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log records what a worker did, with the milliseconds since the start.
type log struct {
	mu    sync.Mutex
	start time.Time
	lines []string
	takes time.Duration
	fail  map[string]error
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%d ", time.Since(l.start).Milliseconds())+fmt.Sprintf(format, args...))
}

func (l *log) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// in runs a test in a synctest bubble, where no real time passes.
func in(t *testing.T, takes time.Duration, fn func(*Worker, *log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &log{start: time.Now(), takes: takes, fail: map[string]error{}}
		w := New(Options{
			Clock: clock.System(),
			Sync: func(ctx context.Context, dir string) error {
				l.add("%s", dir)
				select {
				case <-time.After(l.takes):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				if dir == "panics" {
					panic("odd")
				}
				return l.fail[dir]
			},
			Failed: func(dir string, err error) { l.add("%s failed: %v", dir, err) },
		})
		fn(w, l)
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func expect(t *testing.T, l *log, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, l.got()); diff != "" {
		t.Error(diff)
	}
}

// TestFresh checks the status of a worker that did nothing, and of no worker.
func TestFresh(t *testing.T) {
	t.Parallel()
	in(t, 0, func(w *Worker, _ *log) {
		if diff := cmp.Diff(Status{Enabled: true, DebounceMS: 250, MinIntervalMS: 1000}, w.Status()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(Status{Closed: true}, NoWorker()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDebounce checks that notices are collected for 250 ms after the first, which later ones
// do not extend, and that batches are a second apart.
func TestDebounce(t *testing.T) {
	t.Parallel()
	in(t, 0, func(w *Worker, l *log) {
		for range 30 { // steady writing: one each 100 ms
			w.Notify("/a")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		expect(t, l, "250 /a", "1250 /a", "2250 /a", "3250 /a")
		if s := w.Status(); s.NotifyCalls != 30 || s.Batches != 4 || s.SyncAttempts != 4 || s.PendingWorkspaces != 0 || s.Running {
			t.Errorf("%+v", s)
		}
		w.Notify("/b") // long after the last batch
		time.Sleep(time.Second)
		if got := l.got(); got[len(got)-1] != "13250 /b" {
			t.Errorf("%v", got)
		}
	})
}

// TestBatches checks that a batch syncs workspaces one after the other in the order of their
// notices. Notices that arrive meanwhile go to the next batch, a second after the end.
func TestBatches(t *testing.T) {
	t.Parallel()
	in(t, 300*time.Millisecond, func(w *Worker, l *log) {
		for _, dir := range []string{"/b", "/a", "/b", "/c"} {
			w.Notify(dir)
		}
		time.Sleep(600 * time.Millisecond) // /a is under way
		w.Notify("/b")
		s := w.Status()
		if !s.Running || s.PendingWorkspaces != 1 || s.Batches != 1 || s.BatchCompletedAt != nil || *s.LastNotified != "/b" {
			t.Errorf("%+v", s)
		}
		time.Sleep(5 * time.Second)
		expect(t, l, "250 /b", "550 /a", "850 /c", "2150 /b")
		s = w.Status()
		if s.Running || *s.BatchStartedAt != l.start.UnixMilli()+2150 || *s.BatchCompletedAt != l.start.UnixMilli()+2450 || *s.LastRunAt != *s.BatchCompletedAt {
			t.Errorf("%+v", s)
		}
	})
}

// TestErrors checks that a failing workspace does not stop the others, and what is reported of
// it. A panic counts as a failure.
func TestErrors(t *testing.T) {
	t.Parallel()
	in(t, time.Millisecond, func(w *Worker, l *log) {
		l.fail["/bad"] = errors.New("spoilt")
		for _, dir := range []string{"/bad", "panics", "/good"} {
			w.Notify(dir)
		}
		time.Sleep(2 * time.Second)
		w.Notify("/good")
		time.Sleep(2 * time.Second)
		expect(t, l, "250 /bad", "251 /bad failed: spoilt", "251 panics", "252 panics failed: panic: odd", "252 /good", "2250 /good")
		s := w.Status()
		if s.SyncAttempts != 4 || s.SyncErrors != 2 || *s.LastError != "panic: odd" || *s.LastErrorIn != "panics" || *s.LastErrorAt != l.start.UnixMilli()+252 {
			t.Errorf("%+v", s)
		}
	})
}

// TestFlush checks that a flush skips the debounce and the interval, waits for the batch under
// way, and leaves nothing pending.
func TestFlush(t *testing.T) {
	t.Parallel()
	in(t, 100*time.Millisecond, func(w *Worker, l *log) {
		flush := func() {
			if err := w.Flush(context.Background()); err != nil {
				t.Error(err)
			}
			if s := w.Status(); s.PendingWorkspaces != 0 || s.Running {
				t.Errorf("%+v", s)
			}
		}
		flush() // nothing to do
		w.Notify("/a")
		flush()
		w.Notify("/b")
		flush()
		w.Notify("/c") // its timer begins the batch at 1200
		time.Sleep(1050 * time.Millisecond)
		w.Notify("/d")
		var both sync.WaitGroup
		for range 2 {
			both.Go(flush)
		}
		both.Wait()
		time.Sleep(5 * time.Second)
		expect(t, l, "0 /a", "100 /b", "1200 /c", "1300 /d")
	})
}

// TestFlushUnderNotices checks that a flush handles only what was pending when it was called,
// however steadily more notices come.
func TestFlushUnderNotices(t *testing.T) {
	t.Parallel()
	in(t, 100*time.Millisecond, func(w *Worker, _ *log) {
		ctx, stop := context.WithCancel(context.Background())
		var noticing sync.WaitGroup
		noticing.Go(func() {
			for ctx.Err() == nil {
				w.Notify("/a")
				w.Notify("/b")
				time.Sleep(time.Millisecond)
			}
		})
		time.Sleep(10 * time.Second)
		for range 5 {
			began := time.Now()
			if err := w.Flush(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > 400*time.Millisecond { // two batches of two workspaces
				t.Errorf("a flush took %s", took)
			}
		}
		stop()
		noticing.Wait()
	})
}

// TestFlushGivesUp checks that a flush ends with its context while the batch goes on.
func TestFlushGivesUp(t *testing.T) {
	t.Parallel()
	in(t, time.Minute, func(w *Worker, l *log) {
		w.Notify("/a")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if !w.Status().Running {
			t.Error("the batch ended with the flush")
		}
		expect(t, l, "0 /a")
	})
}

// TestClose checks that Close flushes, and that later notices are ignored.
func TestClose(t *testing.T) {
	t.Parallel()
	in(t, 100*time.Millisecond, func(w *Worker, l *log) {
		w.Notify("/a")
		w.Notify("/b")
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
		w.Notify("/c")
		time.Sleep(5 * time.Second)
		expect(t, l, "0 /a", "100 /b")
		if s := w.Status(); !s.Closed || !s.Enabled || s.NotifyCalls != 2 || s.Batches != 1 || s.PendingWorkspaces != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseCallsOff(t *testing.T) {
	t.Parallel()
	in(t, time.Hour, func(w *Worker, l *log) {
		w.Notify("/a")
		w.Notify("/b")
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(l.start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestNoNoticeIsLost notifies and flushes from many goroutines. A notice that precedes a flush
// is synced before the flush ends.
func TestNoNoticeIsLost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	changed, seen := map[string]int{}, map[string]int{}
	w := New(Options{Clock: clock.System(), Failed: func(string, error) {}, Sync: func(_ context.Context, dir string) error {
		mu.Lock()
		defer mu.Unlock()
		seen[dir] = changed[dir]
		return nil
	}})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			dir := fmt.Sprint("/", g%3)
			for range 200 {
				mu.Lock()
				changed[dir]++
				mine := changed[dir]
				mu.Unlock()
				w.Notify(dir)
				if err := w.Flush(context.Background()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if seen[dir] < mine {
					t.Errorf("%s: change %d was not seen, only %d", dir, mine, seen[dir])
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if err := w.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
