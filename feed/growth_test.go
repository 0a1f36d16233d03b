package feed

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"ac/workspace"
)

// told is an observer of growth.
type told chan string

func (c told) note(dir string) {
	select {
	case c <- dir:
	default:
	}
}

func (c told) wait(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Errorf("told of %s, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("nobody was told of %s", want)
	}
}

// watching creates a hub without subscriptions that reports growth, and waits
// until the hub knows all logs.
func (f *fixture) watching(t *testing.T) (*Hub, *watcher, told) {
	t.Helper()
	c := make(told, 1000)
	h := NewHub(f.recorder, f.ws.Env.Clock, f.ws.Env.IDs.New)
	h.OnGrowth(c.note)
	t.Cleanup(h.Close)
	h.Register(f.ws)
	h.mu.Lock()
	w := h.watchers[f.ws.Dir()]
	h.mu.Unlock()
	until(t, w.scanned)
	return h, w, c
}

// until waits for a condition.
func until(t *testing.T, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came")
		}
	}
}

// deafen removes the watches of everything in the projects.
func (w *watcher) deafen() {
	w.each(func(key logKey, _ bool) {
		for _, dir := range []string{workspace.RunDir(key.project, key.run), workspace.RunsDir(key.project), workspace.ProjectDir(key.project)} {
			w.listener.Forget(dir)
		}
	})
	w.listener.Forget(workspace.ProjectsDir)
}

// TestGrowthWithoutListeners checks that all logs are watched without a subscription: existing
// ones, and those of new runs of other processes.
func TestGrowthWithoutListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, run := range []string{"run_1", "run_2"} {
		f.write("p", run, lines(run, 1, 1))
	}
	_, w, c := f.watching(t)
	for _, run := range []string{"run_1", "run_2"} {
		drain(c)
		f.write("p", run, lines(run, 2, 2))
		c.wait(t, f.ws.Dir())
	}
	drain(c)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), appendTo+"="+f.ws.Dir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.wait(t, f.ws.Dir())
	if began := w.at(logKey{"p", "run_1"}); began.offset != int64(len(lines("run_1", 1, 1)+lines("run_1", 2, 2))) {
		t.Errorf("one who comes now would begin at %d", began.offset)
	}
}

// TestKnownBeforeAnybodyListens checks that a subscription inspects no log once the server
// knows them all.
func TestKnownBeforeAnybodyListens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	h, w, _ := f.watching(t)
	key := logKey{"p", "run_1"}
	w.mu.Lock()
	known := w.fronts[key]
	known.size = 1 // inspecting the log would correct this
	w.fronts[key] = known
	w.mu.Unlock()
	if _, _, err := h.Subscribe(Spec{ID: "sub", Workspace: f.ws}); err != nil {
		t.Fatal(err)
	}
	if w.at(key).offset != 1 {
		t.Error("all logs were looked at")
	}
}

func drain(c told) {
	for {
		select {
		case <-c:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// TestGrowthAfterLoss checks that changes are reported even if the system lost their events.
func TestGrowthAfterLoss(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	_, w, c := f.watching(t)
	w.deafen()
	f.write("p", "run_1", lines("run_1", 2, 2))
	f.ws.Watched().MarkLost()
	c.wait(t, f.ws.Dir())
}

// TestNoLookingWithoutListeners checks that logs that cannot be watched are polled
// only while there is a subscription.
func TestNoLookingWithoutListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	h, w, c := f.watching(t)
	w.deafen()
	w.startPolling()
	f.write("p", "run_1", lines("run_1", 2, 2))
	select {
	case <-c:
		t.Error("the logs were looked at although nobody listens")
	case <-time.After(lookEvery + lookEvery/2):
	}
	_, start, err := h.Subscribe(Spec{ID: "sub", Workspace: f.ws})
	if err != nil {
		t.Fatal(err)
	}
	start()
	f.write("p", "run_1", lines("run_1", 3, 3))
	if diff := f.seqs(t, "sub", "run_1", 3); len(diff) != 1 {
		t.Error(diff)
	}
}

// TestNoLinesKeptWithoutListeners checks that a watcher keeps no lines of logs after the last
// subscription has ended.
func TestNoLinesKeptWithoutListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	h, w, _ := f.watching(t)
	kept := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.streams)
	}
	for _, id := range []string{"a", "b"} {
		_, start, err := h.Subscribe(Spec{ID: id, Workspace: f.ws})
		if err != nil {
			t.Fatal(err)
		}
		start()
	}
	f.write("p", "run_1", lines("run_1", 2, 2))
	f.seqs(t, "a", "run_1", 2)
	f.seqs(t, "b", "run_1", 2)
	h.Unsubscribe("a")
	if kept() == 0 {
		t.Error("nothing is kept for the one who still listens")
	}
	h.Unsubscribe("b")
	if n := kept(); n != 0 {
		t.Errorf("lines of %d logs are kept for nobody", n)
	}
}
