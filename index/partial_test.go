package index

import (
	"errors"
	"path/filepath"
	"testing"

	"ac/workspace"
)

// TestRecordsOnly checks reads that need only records. They skip the sync while all records are
// as indexed, notice each changed log among those they show, and sync after any change of a
// record.
func TestRecordsOnly(t *testing.T) {
	t.Parallel()
	c, w := newCompany(t, filepath.Join(t.TempDir(), "ws"), true)
	t.Cleanup(func() { must(w.Close()) })
	for _, id := range []string{"r1", "r2", "r3"} {
		c.put("work/projects/p/runs/"+id+"/run.yaml", runYAML(id, "a1", "ended"))
	}
	c.put("work/projects/p/runs/r1/events.jsonl", eventLine(1, "note")+"\n")
	c.put("work/projects/p/runs/r2/events.jsonl", eventLine(2, "note")+"\n")
	log := func(id string) string { return "work/projects/p/runs/" + id + "/events.jsonl" }

	look := func(what string, partly bool, stale ...string) {
		t.Helper()
		done, checked := ensured(t, w, "r1", "r2", "r3")
		if done.RecordsOnly != partly {
			t.Errorf("%s: partly %v, want %v", what, done.RecordsOnly, partly)
		}
		for _, id := range []string{"r1", "r2", "r3"} {
			want := false
			for _, s := range stale {
				want = want || s == id
			}
			if got := errors.Is(checked[id], ErrStale); got != want || checked[id] != nil && !got {
				t.Errorf("%s: log of %s: %v, want it stale: %v", what, id, checked[id], want)
			}
		}
	}
	look("no index", false)
	look("built, which keeps no hashes", false)
	look("nothing changed", true)
	c.append(log("r1"), eventLine(3, "note")+"\n")
	look("one log grew", true, "r1")
	c.put(log("r3"), eventLine(3, "note")+"\n")
	look("another log is new", true, "r1", "r3")
	must(w.FS.Remove(log("r2")))
	look("a log is gone", true, "r1", "r2", "r3")
	ix := For(w)
	if _, err := ix.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(ix.Close())
	look("after a sync", true)
	c.put("work/projects/p/runs/r2/run.yaml", runYAML("r2", "a2", "ended")) // in place: its directory does not change
	look("a record changed", false)
	look("nothing changed since", true)
	c.put("work/projects/p/runs/r4/run.yaml", runYAML("r4", "a1", "running"))
	look("a run is new", false)
	must(w.FS.RemoveAll("work/projects/p/runs/r4"))
	look("a run is gone", false)
	must(w.FS.RemoveAll(databaseFile + "-synced"))
	look("nobody knows what was synced", false)
}

// ensured calls Ensure for the records on a separate Index, and checks the logs of some runs.
func ensured(t *testing.T, w *workspace.Workspace, runs ...string) (EnsureResult, map[string]error) {
	t.Helper()
	ix := For(w)
	defer ix.Close()
	done, err := ix.Ensure(t.Context(), Records)
	if err != nil {
		t.Fatal(err)
	}
	checked := map[string]error{}
	if err := ix.ViewOf(t.Context(), done, func(v *View) error {
		for _, id := range runs {
			checked[id] = v.CheckLogs([]RunKey{{"p", id}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return done, checked
}
