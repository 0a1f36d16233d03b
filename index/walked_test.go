package index

import (
	"context"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"ac/internal/clock"
	"ac/workspace"
)

// TestLooksWhereSomethingChanged shows that a process that stays looks again only at
// folders in which something changed, and at everything from time to time, or when
// something may not have been heard. What it saw is falsified, so that looking again
// can be told from remembering.
func TestLooksWhereSomethingChanged(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Log("nothing is watched here: every sync looks at everything")
		return
	}
	var ahead atomic.Int64
	env := workspace.SystemEnv()
	env.Clock = clock.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, 0)
	dir := filepath.Join(t.TempDir(), "w")
	must(workspace.Init(context.Background(), env, dir, workspace.InitOptions{CompanyName: "C"}))
	w, err := workspace.Open(env, dir)
	must(err)
	defer w.Close()
	c := &company{dir: dir}
	for _, id := range []string{"r1", "r2"} {
		c.put("work/projects/p/runs/"+id+"/run.yaml", runYAML(id, "a1", "running"))
	}
	ix := For(w)
	ix.Stay()
	defer ix.Close()
	runs := func() int {
		t.Helper()
		if _, err := ix.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		total := 0
		if err := ix.View(t.Context(), func(v *View) error {
			list, err := v.Runs(RunFilter{Limit: 10})
			total = len(list)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return total
	}
	falsify := func() { ix.seen.files["work/projects/p/runs/r1"] = nil }
	for i := range 3 {
		if n := runs(); n != 2 {
			t.Fatalf("sync %d: %d runs", i, n)
		}
	}
	if len(ix.seen.files) == 0 {
		t.Log("nothing can be watched on this file system: every sync looks at everything")
		return
	}
	falsify()
	if n := runs(); n != 1 {
		t.Fatalf("what nobody touched was looked at again: %d runs", n)
	}
	c.put("work/projects/p/runs/r2/run.yaml", runYAML("r2", "a1", "ended"))
	if n := runs(); n != 1 {
		t.Errorf("a change beside it made it look there: %d runs", n)
	}
	for name, change := range map[string]func(){
		"a change in it":           func() { c.put("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", "ended")) },
		"a document replaced":      func() { c.replace("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", "failed")) },
		"something not heard":      func() { w.Watched().Lose() },
		"half a minute":            func() { ahead.Add(int64(walkedLife + time.Second)) },
		"folders moved":            func() { c.swap("work/projects/p", "work/projects/q"); c.swap("work/projects/q", "work/projects/p") },
		"a folder above that went": func() { c.swap("work", "aside2"); c.swap("aside2", "work") },
	} {
		falsify()
		change()
		if n := runs(); n != 2 {
			t.Errorf("%s: %d runs", name, n)
		}
		for range 2 {
			runs()
		}
	}
}
