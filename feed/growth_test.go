package feed

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"ac/workspace"
)

// told is who is told of growth.
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

// watching makes a hub without subscriptions that tells of growth, and waits
// until it watches a directory.
func (f *fixture) watching(t *testing.T, dir string) (*Hub, told) {
	t.Helper()
	c := make(told, 1000)
	h := NewHub(f.recorder, f.ws.Env.Clock, f.ws.Env.IDs.New)
	h.OnGrowth(c.note)
	t.Cleanup(h.Close)
	h.Know(f.ws)
	h.watches(t, f.ws.Dir(), dir)
	return h, c
}

// watches waits until a directory of a workspace is watched.
func (h *Hub) watches(t *testing.T, ws, dir string) {
	t.Helper()
	name := filepath.Join(ws, filepath.FromSlash(dir))
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		list := h.watchers[ws].notify.WatchList()
		h.mu.Unlock()
		for _, watched := range list {
			if watched == name {
				return
			}
		}
	}
	t.Fatalf("%s is not watched", dir)
}

func record(t *testing.T, ws *workspace.Workspace, run, status string) {
	t.Helper()
	text := fmt.Sprintf("schema_version: 1\ntype: session_record\nsession_ref: local_%s\nworkspace_dir: %s\nproject_id: p\nrun_id: %s\nstatus: %s\nexit_code: null\nsignal: null\nstarted_at_ms: 1\n", run, ws.Dir(), run, status)
	file := filepath.Join(ws.Dir(), workspace.SessionFile("local_"+run))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestGrowthWithoutListeners pins that logs which may grow are watched although
// nobody subscribed: those of live sessions, of new runs of other processes, and
// of old runs that get a session; and that those of the others are not.
func TestGrowthWithoutListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, run := range []string{"run_live", "run_over", "run_old"} {
		f.write("p", run, lines(run, 1, 1))
	}
	record(t, f.ws, "run_live", "running")
	record(t, f.ws, "run_over", "ended")
	h, c := f.watching(t, workspace.RunDir("p", "run_live"))
	h.mu.Lock()
	watched := len(h.watchers[f.ws.Dir()].notify.WatchList())
	h.mu.Unlock()
	if watched != 5 { // projects, the project, its runs, the sessions, one run
		t.Errorf("%d directories are watched", watched)
	}
	f.write("p", "run_live", lines("run_live", 2, 2))
	c.wait(t, f.ws.Dir())
	record(t, f.ws, "run_old", "running")
	h.watches(t, f.ws.Dir(), workspace.RunDir("p", "run_old"))
	drain(c)
	f.write("p", "run_old", lines("run_old", 2, 2))
	c.wait(t, f.ws.Dir())
	drain(c)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), appendTo+"="+f.ws.Dir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.wait(t, f.ws.Dir())
	h.Appended(f.ws.Dir(), workspace.LogFile("p", "run_over"))
	h.watches(t, f.ws.Dir(), workspace.RunDir("p", "run_over"))
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

// TestGrowthAfterLoss pins that changes which the system lost are told of.
func TestGrowthAfterLoss(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	h, c := f.watching(t, workspace.RunsDir("p"))
	h.mu.Lock()
	w := h.watchers[f.ws.Dir()]
	h.mu.Unlock()
	w.notify.Errors <- fsnotify.ErrEventOverflow
	c.wait(t, f.ws.Dir())
}

// TestNoLookingWithoutListeners pins that what cannot be watched is looked at
// only while somebody listens.
func TestNoLookingWithoutListeners(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 1))
	h, c := f.watching(t, workspace.RunsDir("p"))
	h.mu.Lock()
	w := h.watchers[f.ws.Dir()]
	for _, watched := range w.notify.WatchList() {
		if err := w.notify.Remove(watched); err != nil {
			t.Error(err)
		}
	}
	w.look()
	h.mu.Unlock()
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
