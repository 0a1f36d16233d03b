package feed

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/index"
)

// indexFor creates the index of the fixture's workspace.
func (f *fixture) indexFor() *index.Index {
	f.t.Helper()
	ix := index.For(f.ws)
	f.t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return ix
}

// run writes the record of a run, so that it is indexed.
func (f *fixture) run(project, run string) {
	f.t.Helper()
	dir := filepath.Dir(f.file(project, run))
	text := "schema_version: 1\ntype: run\nid: " + run + "\nproject_id: " + project +
		"\nagent_id: a\nprovider: cmd\ncreated_at: 2026-01-02T00:00:00.000Z\nstatus: running\ncontext_pack_id: c\nevents_relpath: e\n"
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// recentBy returns the events of a backfill, from the index or, if ix is nil, from the logs.
func (f *fixture) recentBy(ix *index.Index, spec Spec) (list []string) {
	f.t.Helper()
	spec.Workspace, spec.Index, spec.ID = f.ws, ix, "probe"
	s, _, err := f.hub.add(spec)
	if err != nil {
		f.t.Fatal(err)
	}
	defer f.hub.remove(s)
	var found []past
	if ix == nil {
		found, err = s.recent()
	} else {
		found, err = s.indexed(s.places())
	}
	if err != nil {
		f.t.Fatal(err)
	}
	for _, e := range found {
		list = append(list, fmt.Sprintf("%s %d %s", e.place.key.run, e.seq, e.raw))
	}
	return list
}

// TestIndexedBackfillAgainstLogs compares the backfill from the index with the one
// from the logs. The logs have clocks that go back and stand still, lines that are no
// events, torn tails, and runs without a record. The filters are drawn at random.
func TestIndexedBackfillAgainstLogs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for n := range 14 {
		project, run := fmt.Sprint("p", n%3), fmt.Sprint("run_", n)
		var text strings.Builder
		clock := at.Add(time.Duration(random.IntN(40)) * time.Second)
		for i := range random.IntN(60) {
			switch random.IntN(12) {
			case 0:
				text.WriteString("no event\n")
			case 1:
				clock = clock.Add(-time.Duration(random.IntN(30)) * time.Second)
			case 2, 3:
			default:
				clock = clock.Add(time.Duration(random.IntN(4)) * time.Second)
			}
			kind := []string{"note", "usage.reported", "x"}[random.IntN(3)]
			text.WriteString(lineAt(run, kind, i, clock))
		}
		if n%5 == 0 {
			text.WriteString(`{"type":"note","torn":`)
		}
		if n%6 != 5 {
			f.run(project, run)
		}
		f.write(project, run, text.String())
	}
	ix := f.indexFor()
	for range 60 {
		spec := Spec{Backfill: 1 + random.IntN(80), Types: [][]string{nil, {"note"}, {"x", "usage.reported"}}[random.IntN(3)]}
		if random.IntN(3) == 0 {
			spec.Project = fmt.Sprint("p", random.IntN(4))
		}
		if diff := cmp.Diff(f.recentBy(nil, spec), f.recentBy(ix, spec)); diff != "" {
			t.Errorf("%+v: logs, index:\n%s", spec, diff)
		}
	}
}

// TestIndexedBackfillFallsBack checks that the backfill falls back to the logs if the index
// cannot be created. The logs also have events without a time.
func TestIndexedBackfillFallsBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for n := range fewLogs + 2 {
		run := fmt.Sprint("run_", n)
		f.run("p", run)
		f.write("p", run, lines(run, 1, 3)+`{"event_id":"e","type":"note","run_id":"`+run+`"}`+"\n")
	}
	local := filepath.Join(f.ws.Dir(), ".local")
	if err := os.MkdirAll(filepath.Join(local, "index.sqlite", "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.subscribe(Spec{ID: "sub", Backfill: 1000, Index: f.indexFor()})
	for n := range fewLogs + 2 {
		run := fmt.Sprint("run_", n)
		if diff := cmp.Diff(counted(1, 4), f.seqs(t, "sub", run, 4)); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
	}
}

// TestBackfillMeetsLive lets writers append while clients subscribe with a backfill
// and the index is deleted repeatedly. Each client gets the end of each log once,
// without a gap.
func TestBackfillMeetsLive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const runs, each = fewLogs + 4, 120
	for n := range runs {
		run := fmt.Sprint("run_", n)
		f.run("p", run)
		f.write("p", run, lines(run, 1, 20))
	}
	ix := f.indexFor()
	var writers sync.WaitGroup
	for n := range runs {
		writers.Go(func() {
			run := fmt.Sprint("run_", n)
			for i := 21; i <= each; i++ {
				f.write("p", run, line(run, "note", i))
				time.Sleep(time.Duration(i%3) * time.Millisecond)
			}
		})
	}
	const clients = 6
	for c := range clients {
		f.subscribe(Spec{ID: fmt.Sprint("sub_", c), Backfill: 40, Index: ix})
		for _, name := range []string{"index.sqlite", "index.sqlite-wal", "index.sqlite-shm"} {
			if err := os.Remove(filepath.Join(f.ws.Dir(), ".local", name)); err != nil && !os.IsNotExist(err) {
				t.Error(err)
			}
		}
	}
	writers.Wait()
	for c := range clients {
		total := 0
		for n := range runs {
			got := f.seqs(t, fmt.Sprint("sub_", c), fmt.Sprint("run_", n), each)
			total += len(got)
			if diff := cmp.Diff(counted(each+1-int64(len(got)), each), got); diff != "" {
				t.Errorf("client %d, run %d:\n%s", c, n, diff)
			}
		}
		if total < 40 {
			t.Errorf("client %d got %d events", c, total)
		}
	}
}
