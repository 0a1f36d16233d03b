package feed

// Logs that are rewritten, cut, removed, or swapped with their whole tree.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReplacedLogs checks what a subscription that has read ten lines gets after its
// log is replaced, cut or removed.
func TestReplacedLogs(t *testing.T) {
	t.Parallel()
	resealed := strings.ReplaceAll(lines("run_1", 1, 10), `}`, `,"event_hash":"another"}`)
	other := strings.ReplaceAll(lines("run_1", 1, 3), "evt_", "evt_new_")
	for name, c := range map[string]struct {
		change func(f *fixture)
		want   []int64 // after the first ten
	}{
		"rewritten":           {func(f *fixture) { f.replace("p", "run_1", resealed) }, []int64{11}},
		"rewritten and grown": {func(f *fixture) { f.replace("p", "run_1", resealed+lines("run_1", 11, 12)) }, []int64{11, 12, 13}},
		"copied":              {func(f *fixture) { f.replace("p", "run_1", lines("run_1", 1, 11)) }, []int64{11, 12}},
		"shorter":             {func(f *fixture) { f.replace("p", "run_1", lines("run_1", 1, 4)) }, []int64{5}},
		"cut": {func(f *fixture) {
			if err := os.Truncate(f.file("p", "run_1"), int64(len(lines("run_1", 1, 4)))); err != nil {
				f.t.Error(err)
			}
		}, []int64{5}},
		"emptied": {func(f *fixture) {
			if err := os.Truncate(f.file("p", "run_1"), 0); err != nil {
				f.t.Error(err)
			}
		}, []int64{1}},
		"another log":          {func(f *fixture) { f.replace("p", "run_1", other) }, []int64{1, 2, 3, 4}},
		"removed":              {func(f *fixture) { remove(f, f.file("p", "run_1")) }, []int64{1}},
		"removed, another log": {func(f *fixture) { remove(f, f.file("p", "run_1")); f.write("p", "run_1", other) }, []int64{1, 2, 3, 4}},
		"removed and put back": {func(f *fixture) { remove(f, f.file("p", "run_1")); f.write("p", "run_1", lines("run_1", 1, 10)) }, []int64{11}},
		"put back, empty first": {func(f *fixture) {
			f.replace("p", "run_1", "")
			f.settle()
			f.write("p", "run_1", lines("run_1", 1, 10))
		}, []int64{11}},
		"run removed, another": {func(f *fixture) { remove(f, filepath.Dir(f.file("p", "run_1"))); f.write("p", "run_1", other) }, []int64{1, 2, 3, 4}},
		"project removed, again": {func(f *fixture) {
			remove(f, filepath.Join(f.ws.Dir(), "work/projects/p"))
			f.write("p", "run_1", other)
		}, []int64{1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.write("p", "run_1", lines("run_1", 1, 7))
			f.subscribe(Spec{ID: "sub", Backfill: 100})
			f.seqs(t, "sub", "run_1", 7)
			f.write("p", "run_1", lines("run_1", 8, 10))
			f.seqs(t, "sub", "run_1", 10)
			c.change(f)
			if name == "emptied" || name == "removed" || name == "cut" || name == "shorter" {
				f.settle() // the hub must notice the cut before the next write hides it
			}
			f.write("p", "run_1", line("run_1", "last", 99))
			f.until(t, "the last event", func() bool {
				return strings.Contains(string(f.notes[len(f.notes)-1].Event), `"last"`)
			})
			var got []int64
			for _, n := range f.got("sub")[10:] {
				got = append(got, n.Seq)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func remove(f *fixture, name string) {
	if err := os.RemoveAll(name); err != nil {
		f.t.Error(err)
	}
}

// settle waits until everything that was written before has been read. The hub reads
// the logs of one pass in any order. An event of another run in a later pass shows that
// the previous pass is over.
func (f *fixture) settle() {
	f.t.Helper()
	for turn := range 2 {
		f.write("settled", "run_s", line("run_s", "note", turn))
		f.until(f.t, "an event of another run", func() bool {
			return len(f.notes) > 0 && f.notes[len(f.notes)-1].run == "run_s"
		})
		f.mu.Lock()
		f.notes = f.notes[:len(f.notes)-1]
		f.mu.Unlock()
	}
}

// TestSwappedTree replaces a watched workspace by another one.
func TestSwappedTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("p", "run_1", lines("run_1", 1, 3))
	f.subscribe(Spec{ID: "one", Backfill: 10})
	f.seqs(t, "one", "run_1", 3)
	_, start, err := f.hub.Subscribe(Spec{ID: "all"})
	if err != nil {
		t.Fatal(err)
	}
	start()
	f.write("p", "run_1", lines("run_1", 4, 4))
	f.seqs(t, "one", "run_1", 4)
	f.seqs(t, "all", "run_1", 4)

	dir := f.ws.Dir()
	makeWorkspace(t, dir+"-new")
	if err := os.CopyFS(filepath.Join(dir+"-new", "work/projects/p"), os.DirFS(filepath.Join(dir, "work/projects/p"))); err != nil {
		t.Fatal(err)
	}
	for _, move := range [][2]string{{dir, dir + "-old"}, {dir + "-new", dir}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	f.write("p", "run_1", lines("run_1", 5, 5))
	f.write("p", "run_2", lines("run_2", 1, 2))
	f.ws = openWorkspace(t, dir)
	f.hub.Register(f.ws)
	f.write("p", "run_1", lines("run_1", 6, 6))
	for sub, from := range map[string]int64{"one": 1, "all": 4} {
		if diff := cmp.Diff(counted(from, 6), f.seqs(t, sub, "run_1", 6)); diff != "" {
			t.Errorf("%s: %s", sub, diff)
		}
		if diff := cmp.Diff(counted(1, 2), f.seqs(t, sub, "run_2", 2)); diff != "" {
			t.Errorf("%s: %s", sub, diff)
		}
	}
}
