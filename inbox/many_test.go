package inbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/governance"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/workspace"
)

// TestDeltasOfOneMemory approves several deltas for one heading in one call, each with its
// preview's hash. These approvals may move each other's place in the file. Any other change is
// refused.
func TestDeltasOfOneMemory(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	w := open(t, calm(), s.dir)
	chosen := func(n int) (list []governance.Ruling, items []item) {
		for i := range n {
			it := s.add(t, w, kindMemory, i+100*len(items))
			items = append(items, it)
		}
		for _, it := range items {
			r := s.ruling(it.artifact, governance.Approved)
			seen, err := governance.PreviewDelta(w, r.Item)
			if err != nil || seen.Hash == "" {
				t.Fatalf("%+v, %v", seen, err)
			}
			r.ExpectHash = seen.Hash
			list = append(list, r)
		}
		return list, items
	}
	rulings, items := chosen(3)
	for i, done := range ResolveMany(t.Context(), w, rulings, nil) {
		if done.Err != nil || done.Resolution.ReviewID == "" {
			t.Errorf("delta %d: %v", i, done.Err)
		}
	}
	for _, it := range items {
		if d := s.look(t, w, it); d.effects != 1 || d.approvals != 1 {
			t.Errorf("%s: %+v", it.mark, d)
		}
	}
	rulings, _ = chosen(2)
	file := filepath.Join(s.dir, filepath.FromSlash(workspace.MemoryFile(s.project)))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "## Decisions", "## Decisions\n\nSomebody else was here.", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, done := range ResolveMany(t.Context(), w, rulings, nil) {
		if !fault.Is(done.Err, fault.PreviewChanged) {
			t.Errorf("after another's change, delta %d: %v", i, done.Err)
		}
	}
}

// TestOneOfMany checks that a refused ruling does not affect the others.
func TestOneOfMany(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	w := open(t, calm(), s.dir)
	rulings := []governance.Ruling{s.ruling("art_none", governance.Approved)}
	for _, it := range s.items {
		rulings = append(rulings, s.ruling(it.artifact, governance.Denied))
	}
	for i, done := range ResolveMany(t.Context(), w, rulings, jobs{s.project}) {
		if (i == 0) != fault.Is(done.Err, fault.NotFound) {
			t.Errorf("%d: %v", i, done.Err)
		}
	}
	for _, it := range s.items {
		if d := s.look(t, w, it); d.denials != 1 {
			t.Errorf("%s: %+v", it.mark, d)
		}
	}
}

// TestManyKilled kills a process that decides on several items, at one file system call after the
// other. The decided items are always the first ones, each decided completely, and the rest can
// be decided afterwards.
func TestManyKilled(t *testing.T) {
	t.Parallel()
	base := newStage(t, 1)
	seen := map[int]bool{} // by the number of decided items
	for n, more := 1, true; more && !t.Failed(); n += step(7) {
		s := base.copied(t)
		plan := faultfs.NewPlan(0, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS, env.PID = plan.Open, deadPID
		w := open(t, env, s.dir)
		rulings := make([]governance.Ruling, len(s.items))
		for i, it := range s.items {
			rulings[i] = s.ruling(it.artifact, governance.Approved)
		}
		plan.Arm(n, faultfs.Death)
		outcomes := ResolveMany(t.Context(), w, rulings, jobs{s.project})
		more = plan.Hit() != ""
		plan.Arm(0, faultfs.Death)
		if err := plan.CloseAll(); err != nil {
			t.Error(err)
		}
		aged(t, s.dir)
		next := open(t, calm(), s.dir)
		if err := next.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		count, ended := 0, false
		for i, it := range s.items {
			d := s.look(t, next, it)
			d.is(t, plan.Hit(), it)
			if d.approvals == 0 {
				ended = true
				if outcomes[i].Err == nil {
					t.Errorf("call %d: %s was acknowledged and is lost", n, it.mark)
				}
				if _, err := Resolve(t.Context(), next, rulings[i], jobs{s.project}); err != nil {
					t.Errorf("call %d: %s cannot be decided any more: %v", n, it.mark, err)
				}
				continue
			}
			if count++; ended {
				t.Errorf("call %d: %s was decided, and one before it was not", n, it.mark)
			}
		}
		seen[count] = true
		s.whole(t, "afterwards", next)
	}
	for n := range len(base.items) + 1 {
		if !seen[n] {
			t.Errorf("no death left %d items decided: %v", n, seen)
		}
	}
}
