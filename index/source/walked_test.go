package source

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/internal/clock"
	"ac/workspace"
)

// TestLooksWhereSomethingChanged checks that a long-lived process walks only directories with
// changes. It walks everything from time to time, or when notifications may have been lost. The
// test falsifies the cache to tell a new walk from a cached result.
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
	c := tree(dir)
	for _, id := range []string{"r1", "r2"} {
		c.put("work/projects/p/runs/"+id+"/run.yaml", "status: running\n")
	}
	seen := NewCache(env.Clock, w.FS)
	defer seen.Close()
	runs := func() (total int) {
		t.Helper()
		seen.Refresh(t.Context(), w)
		list := Walk{FS: w.FS, Cache: seen, Found: func(f File) {
			if f.Kind == KindRun {
				total++
			}
		}}
		if err := list.Run(); err != nil {
			t.Fatal(err)
		}
		return total
	}
	falsify := func() { seen.files["work/projects/p/runs/r1"] = nil }
	for i := range 3 {
		if n := runs(); n != 2 {
			t.Fatalf("sync %d: %d runs", i, n)
		}
	}
	if len(seen.files) == 0 {
		t.Log("nothing can be watched on this file system: every sync looks at everything")
		return
	}
	falsify()
	if n := runs(); n != 1 {
		t.Fatalf("what nobody touched was looked at again: %d runs", n)
	}
	c.put("work/projects/p/runs/r2/run.yaml", "status: ended\n")
	if n := runs(); n != 1 {
		t.Errorf("a change beside it made it look there: %d runs", n)
	}
	for name, change := range map[string]func(){
		"a change in it":           func() { c.put("work/projects/p/runs/r1/run.yaml", "status: ended\n") },
		"a document replaced":      func() { c.replace("work/projects/p/runs/r1/run.yaml", "status: failed\n") },
		"something not heard":      func() { w.Watched().MarkLost() },
		"half a minute":            func() { ahead.Add(int64(maxCacheAge + time.Second)) },
		"folders moved":            func() { c.move("work/projects/p", "work/projects/q"); c.move("work/projects/q", "work/projects/p") },
		"a folder above that went": func() { c.move("work", "aside2"); c.move("aside2", "work") },
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

// TestCacheClosed closes a cache before, while and after it begins to watch. No watch outlives
// it, and nothing cached is used afterwards.
func TestCacheClosed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "w")
	must(workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}))
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	must(err)
	defer w.Close()
	for _, before := range []int{0, 1, 2, 3} {
		seen := NewCache(w.Env.Clock, w.FS)
		walk := func() {
			seen.Refresh(t.Context(), w)
			list := Walk{FS: w.FS, Cache: seen, Found: func(File) {}}
			must(list.Run())
		}
		for range before {
			walk()
		}
		var closing sync.WaitGroup
		closing.Go(seen.Close) // concurrently, for the race detector
		walk()
		closing.Wait()
		walk()
		walk()
		if seen.watchListener != nil || len(seen.names)+len(seen.files) > 0 {
			t.Errorf("closed after %d walks: it watches %v, and caches %d folders", before, seen.watchListener != nil, len(seen.names)+len(seen.files))
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// tree is the directory of a workspace whose files other programs change.
type tree string

func (t tree) path(name string) string { return filepath.Join(string(t), filepath.FromSlash(name)) }

func (t tree) put(name, text string) {
	must(os.MkdirAll(filepath.Dir(t.path(name)), 0o755))
	must(os.WriteFile(t.path(name), []byte(text), 0o644))
}

func (t tree) replace(name, text string) {
	t.put(name+".new", text)
	must(os.Rename(t.path(name+".new"), t.path(name)))
}

// move renames a file or directory if it exists.
func (t tree) move(from, to string) {
	if _, err := os.Lstat(t.path(from)); err == nil {
		must(os.MkdirAll(filepath.Dir(t.path(to)), 0o755))
		must(os.Rename(t.path(from), t.path(to)))
	}
}
