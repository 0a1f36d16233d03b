package index

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"ac/index/source"
	"ac/internal/durable"
)

// panicky is a file system whose Granularity panics when left reaches zero. A pass calls it
// before it stores a document, and after it wrote the events of a log.
type panicky struct {
	durable.FS
	left atomic.Int64
}

func (p *panicky) Granularity(device uint64) time.Duration {
	if p.left.Add(-1) == 0 {
		panic("as planned")
	}
	return p.FS.Granularity(device)
}

// panics calls fn and reports whether it panicked.
func panics(fn func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	fn()
	return false
}

// TestSyncPanics makes a sync panic at several points, as in a request whose caller recovers. A
// goroutine that waits for the sync gets an error, and the next sync of any process works.
func TestSyncPanics(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, w := filled(t)
	fsys := &panicky{FS: w.FS}
	w.FS = fsys
	ix, other := For(w), For(w) // two connections, as in two processes
	defer other.Close()
	defer ix.Close()
	for round, at := range []int64{1, childRuns + 10, 1, 2, 2} { // the first two build the index, in a transaction
		c.append("work/projects/p/runs/r1/events.jsonl", eventLine(round, "note")+"\n")
		c.put("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", []string{"running", "ended"}[round%2]))
		unlock, err := ix.writer.Lock(ctx)
		must(err)
		led := make(chan bool, 1)
		go func() {
			led <- panics(func() { _, _ = ix.Sync(context.Background()) }) // a context that never ends
		}()
		for ix.upcoming() == nil {
			if ctx.Err() != nil {
				t.Fatal("no sync leads")
			}
			time.Sleep(time.Millisecond)
		}
		turn, leads := ix.join(source.Scope{})
		if leads {
			t.Fatal("two lead")
		}
		fsys.left.Store(at)
		must(unlock())
		if !<-led {
			t.Errorf("round %d did not panic", round)
		}
		select {
		case <-turn.done:
		case <-ctx.Done():
			t.Fatal("who waits hangs")
		}
		if turn.err == nil {
			t.Error("who waited got no error")
		}
		if round < 2 {
			continue // the next round also panics while it builds the index
		}
		for _, next := range []*Index{other, ix} {
			if _, err := next.Sync(ctx); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if got, want := eventsSeen(t, ix), int64(childRuns*30+round+1); got != want {
			t.Errorf("%d events instead of %d", got, want)
		}
	}
}

// upcoming returns the pass that has not begun yet.
func (ix *Index) upcoming() *sharedPass {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.next
}

// TestViewPanics panics in more views than there are connections. The next view still gets a
// connection, and the transactions of the others have ended.
func TestViewPanics(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, w := filled(t)
	for name, ix := range map[string]*Index{"a file": For(w), "a private one": {w: w, private: true}} {
		if _, err := ix.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if !panics(func() { _ = ix.View(ctx, func(*View) error { panic("as planned") }) }) {
				t.Fatalf("%s: %v", name, ctx.Err())
			}
			if ix.private { // the private index went with its connection
				if _, err := ix.Sync(ctx); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := ix.View(ctx, whole); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ix.mu.Lock(); ix.db.Stats().OpenConnections > maxIdleConns {
			t.Errorf("%s: %d connections are open", name, ix.db.Stats().OpenConnections)
		}
		ix.mu.Unlock()
		must(ix.Close())
	}
}
