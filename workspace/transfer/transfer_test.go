package transfer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/transfer"
	"ac/workspace/validate"
)

const deadPID = 1 << 30

var everyFault = flag.Bool("every-fault", false, "let every call fail in every way, instead of some calls in two ways")

func calm() workspace.Env {
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	return env
}

func idle(*workspace.Workspace) error { return nil }

// made creates a workspace with a project and some files of other programs.
func made(t testing.TB, dir string) string {
	t.Helper()
	if err := workspace.Init(t.Context(), calm(), dir, workspace.InitOptions{CompanyName: "Größe 日本 \u202e"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(calm(), dir)
	if err != nil {
		t.Fatal(err)
	}
	project, err := w.CreateProjectWithDefaults(t.Context(), "P", "", []string{"a"})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "work/projects", project.ID, "artifacts/Ünï 日本\n.bin"), strings.Repeat("x", 100_000))
	put(t, filepath.Join(dir, ".local/sessions/s.yaml"), "x")
	put(t, filepath.Join(dir, ".local/heartbeat/config.yaml"), "x")
	put(t, filepath.Join(dir, ".local/heartbeat/tick.lock"), "x")
	put(t, filepath.Join(dir, ".local/index.sqlite-wal"), "x")
	put(t, filepath.Join(dir, ".local/jobs/p/j.owner.json"), "x")
	put(t, filepath.Join(dir, "work/.x.yaml.tmp-1-2-aa"), "x")
	put(t, filepath.Join(dir, "README"), "mine")
	if err := os.Chmod(filepath.Join(dir, "work/projects", project.ID, "memory.md"), 0o400); err != nil {
		t.Fatal(err)
	}
	return dir
}

func put(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// tree returns everything below some folders: modes, times and contents.
func tree(t testing.TB, dir string, tops ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join(dir, top), func(name string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			st, err := e.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			said := fmt.Sprint(st.Mode(), " ", st.ModTime().UnixNano(), " ")
			switch {
			case e.Type().IsRegular():
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				said += string(text)
			case e.Type() == fs.ModeSymlink:
				said, err = os.Readlink(name)
			}
			found[rel] = said
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

func portable(t testing.TB, dir string) map[string]string {
	t.Helper()
	return tree(t, dir, workspace.Portable()...)
}

func order(from, to string) transfer.Order {
	return transfer.Order{Env: calm(), From: workspace.Canonical(from), To: workspace.Canonical(to), Busy: idle}
}

func TestThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	before := tree(t, from, ".")
	out := order(from, filepath.Join(dir, "deep/er/b"))
	out.Local = true
	report, err := out.Run(t.Context())
	if err != nil || !slices.Equal(report.Entries, []string{"company", "org", "work", "inbox", ".local"}) || len(report.Skipped) > 0 {
		t.Fatalf("%+v (%v)", report, err)
	}
	back := order(out.To, filepath.Join(dir, "c"))
	back.Import = true
	if report, err = back.Run(t.Context()); err != nil || len(report.Found.Issues) > 0 {
		t.Fatalf("%+v (%v)", report, err)
	}
	want := portable(t, from)
	delete(want, "work/.x.yaml.tmp-1-2-aa")
	for _, copied := range []string{out.To, back.To} {
		if got := portable(t, copied); !maps.Equal(got, want) {
			t.Errorf("%s differs:\n%.3000v\n%.3000v", copied, got, want)
		}
	}
	local := slices.Sorted(maps.Keys(tree(t, out.To, ".local")))
	if !slices.Equal(local, []string{".local", ".local/heartbeat", ".local/heartbeat/config.yaml", ".local/jobs", ".local/jobs/p", ".local/machine.yaml"}) {
		t.Errorf("of .local: %v", local)
	}
	if after := tree(t, from, "company", "org", "work", "inbox", "README"); !contains(before, after) {
		t.Error("the source was changed")
	}
	if names, err := filepath.Glob(filepath.Join(dir, "*.tmp-*")); err != nil || len(names) > 0 {
		t.Errorf("left: %v (%v)", names, err)
	}
}

func contains(all, some map[string]string) bool {
	for name, text := range some {
		if all[name] != text {
			return false
		}
	}
	return true
}

// TestUnderFaults lets one call after the other fail. The target is either the old workspace or
// the new one. After an error other than a death it is the old one.
func TestUnderFaults(t *testing.T) {
	t.Parallel()
	kinds, step := []faultfs.Kind{faultfs.Late, faultfs.Death}, 37
	if *everyFault {
		kinds, step = []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death}, 1
	}
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			from, target := made(t, filepath.Join(dir, "a")), made(t, filepath.Join(dir, "b"))
			put(t, filepath.Join(target, "stray"), "x")
			fresh := portable(t, from)
			delete(fresh, "work/.x.yaml.tmp-1-2-aa")
			old := portable(t, target)
			for n := 1; !t.Failed(); n += step {
				plan := faultfs.NewPlan(n, kind)
				o := order(from, target)
				o.Env.OpenFS, o.Env.PID, o.Force, o.Local = plan.Open, deadPID, true, true
				_, err := o.Run(t.Context())
				if buried := plan.CloseAll(); buried != nil {
					t.Error(buried)
				}
				now := portable(t, target)
				isNew := maps.Equal(now, fresh)
				if !isNew && !maps.Equal(now, old) {
					t.Errorf("%s: neither old nor new (%v)", plan.Hit(), err)
				}
				if isNew && err != nil && kind != faultfs.Death && !strings.Contains(plan.Hit(), ".local/locks") {
					t.Errorf("%s: replaced, with an error: %v", plan.Hit(), err)
				}
				if !isNew && err == nil {
					t.Errorf("%s: no error, and not replaced", plan.Hit())
				}
				if plan.Hit() == "" {
					return
				}
				if isNew {
					restore(t, dir, target, old)
				}
				ageLocks(from, target)
			}
		})
	}
}

// restore replaces the target with a fresh workspace, and stores its content in old.
func restore(t *testing.T, dir, target string, old map[string]string) {
	t.Helper()
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	made(t, target)
	clear(old)
	maps.Copy(old, portable(t, target))
	_ = dir
}

func ageLocks(dirs ...string) {
	past := time.Now().Add(-time.Hour)
	for _, dir := range dirs {
		_ = os.Chtimes(filepath.Join(dir, ".local/locks/workspace.write.lock"), past, past) // best effort
	}
}

// TestTwoAtOnce runs concurrent transfers to one target. Without force exactly one succeeds. With
// force all do, one after the other.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		dir := t.TempDir()
		from := made(t, filepath.Join(dir, "a"))
		target := filepath.Join(dir, "b")
		if force {
			made(t, target)
		}
		errs := make([]error, 4)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				o := order(from, target)
				o.Force, o.Import = force, true
				_, errs[i] = o.Run(context.Background())
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if force || !fault.Is(err, fault.NotEmpty) {
				t.Error(err)
			}
		}
		if won == 0 || (!force && won > 1) {
			t.Errorf("force %v: %d won: %v", force, won, errs)
		}
		if found := validate.Folder(calm(), target); len(found.Issues) > 0 {
			t.Errorf("%+v", found.Issues)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*.tmp-*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v (%v)", left, err)
		}
	}
}

// TestWrittenMeanwhile exports a workspace during writes. The copy is a consistent snapshot.
func TestWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		w, err := workspace.Open(calm(), from)
		if err != nil {
			t.Error(err)
			return
		}
		for ctx.Err() == nil {
			if _, err := w.CreateProjectWithDefaults(context.Background(), "Q", "", nil); err != nil {
				t.Error(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range 3 {
		o := order(from, filepath.Join(dir, fmt.Sprint("b", i)))
		if _, err := o.Run(t.Context()); err != nil {
			t.Error(err)
		}
		for _, issue := range validate.Folder(calm(), o.To).Issues {
			if !strings.HasPrefix(issue.Path, ".local") {
				t.Errorf("%+v", issue)
			}
		}
		secretaries, projects := count(t, o.To, "org/agents/agent_secretary_*"), count(t, o.To, "work/projects/*")
		if secretaries != projects {
			t.Errorf("%d secretaries of %d projects", secretaries, projects)
		}
	}
	stop()
	wg.Wait()
}

func count(t *testing.T, dir, pattern string) int {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestCheckout imports a git checkout, which has no empty directories and no machine files.
func TestCheckout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	if err := errors.Join(os.RemoveAll(filepath.Join(from, ".local")), os.Remove(filepath.Join(from, "org/teams")), os.RemoveAll(filepath.Join(from, "inbox"))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, from, ".")
	o := order(from, filepath.Join(dir, "b"))
	if _, err := o.Run(t.Context()); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("an export of an invalid workspace: %v", err)
	}
	o.Import = true
	report, err := o.Run(t.Context())
	if err != nil || len(report.Found.Issues) > 0 {
		t.Errorf("%+v (%v)", report, err)
	}
	if st, err := os.Stat(filepath.Join(o.To, workspace.MachineFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("machine.yaml: %v (%v)", st, err)
	}
	if after := tree(t, from, "."); !maps.Equal(before, after) {
		t.Error("the source was changed")
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o := order(from, filepath.Join(dir, "deep/b"))
	if _, err := o.Run(ctx); !fault.Is(err, fault.Canceled) {
		t.Errorf("%v", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left: %v (%v)", names, err)
	}
}
