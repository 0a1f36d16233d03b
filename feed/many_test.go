package feed

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/workspace"
)

var (
	manyRuns = flag.Int("many-runs", 300, "runs of TestCostOfMany")
	manySubs = flag.Int("many-subs", 100, "subscriptions of TestCostOfMany")
)

// TestCostOfMany sends one event to many subscribers and reports what they cost. Its bounds
// allow for a busy machine. For figures, use -v -many-runs 10000 -many-subs 1000.
func TestCostOfMany(t *testing.T) { //nolint:paralleltest // its memory is that of the process
	f := newFixture(t)
	log := []byte(lines("run_x", 1, 20))
	for i := range *manyRuns {
		file := filepath.Join(f.ws.Dir(), filepath.FromSlash(workspace.LogFile("p", fmt.Sprintf("run_%05d", i))))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hub := NewHub(nil, f.ws.Env.Clock, f.ws.Env.IDs.New)
	defer hub.Close()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := heap()
	opened := time.Now()
	hub.OnGrowth(func(string) {})
	hub.Register(f.ws)
	until(t, func() bool { return hub.watchers[f.ws.Dir()].scanned() })
	known := time.Since(opened)
	var heard sync.WaitGroup
	var mu sync.Mutex
	var at []time.Time
	var subscribing []time.Duration
	for range *manySubs {
		began := time.Now()
		_, start, err := hub.Subscribe(Spec{Workspace: f.ws, Deliver: func(context.Context, Event) error {
			mu.Lock()
			at = append(at, time.Now())
			mu.Unlock()
			heard.Done()
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		start()
		subscribing = append(subscribing, time.Since(began))
	}
	memory := heap() - before
	draft, err := f.ws.Events.Draft(events.Draft{RunID: "r", SessionRef: "s", Actor: "a", Visibility: events.VisibilityOrg, Type: "note.said"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last []time.Duration
	for i := range 5 {
		mu.Lock()
		at = nil
		mu.Unlock()
		heard.Add(*manySubs)
		name := workspace.LogFile("p", fmt.Sprintf("run_%05d", i%3))
		if err := f.ws.Append(t.Context(), name, draft); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		heard.Wait()
		last = append(last, slices.MaxFunc(at, time.Time.Compare).Sub(began))
	}
	first := subscribing[0]
	slices.Sort(subscribing)
	slices.Sort(last)
	t.Logf("%d subscriptions at %d runs, known after %s: the last hears an event after %s (worst %s), subscribing %s (first %s, worst %s), %.1f MB, %.1f MB after five events",
		*manySubs, *manyRuns, known, last[2], last[4], subscribing[len(subscribing)/2], first, subscribing[len(subscribing)-1], float64(memory)/1e6, float64(heap()-before)/1e6)
	if each := (heap() - before) / int64(*manySubs); each > 64<<10 {
		t.Errorf("a subscription takes %d bytes at %d runs", each, *manyRuns)
	}
}

// TestFromNowOn subscribes right after others have written. Only what follows is sent, however
// many subscriptions there are.
func TestFromNowOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, run := range []string{"run_1", "run_2", "run_3"} {
		f.write("p", run, lines(run, 1, 1))
	}
	seq := map[string]int{"run_1": 1, "run_2": 1, "run_3": 1}
	for i := range 150 {
		run := []string{"run_1", "run_2", "run_3"}[i%3]
		got := make(chan Event, 1)
		seq[run]++
		f.write("p", run, lines(run, seq[run], seq[run]))
		_, start, err := f.hub.Subscribe(Spec{Workspace: f.ws, Deliver: func(_ context.Context, e Event) error {
			select {
			case got <- e:
			default: // only the first one counts
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		start()
		seq[run]++
		f.write("p", run, lines(run, seq[run], seq[run]))
		select {
		case e := <-got:
			if e.Run != run || e.Seq != int64(seq[run]) {
				t.Fatalf("%d: %s %d came first, want %s %d", i, e.Run, e.Seq, run, seq[run])
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d: nothing came", i)
		}
	}
}
