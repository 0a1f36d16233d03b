package workspace_test

// Checkpoints under faults: the n-th file system call fails, in the workspace or in the target.
// Afterwards either every file is new and one event records it, or every file is unchanged.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// before returns the files of a target directory at first, after those that a checkpoint leaves.
func before() map[string]string {
	return map[string]string{"a.txt": "one\n", "gone.txt": "bye\n", "sub/b.txt": "two\n", "run.sh": "#!/bin/sh\n", "kept.txt": "kept\n"}
}

func after() map[string]string {
	return map[string]string{"a.txt": "one, too\n", "sub/b.txt": "two, too\n", "run.sh": "#!/bin/sh\n", "kept.txt": "kept\n", "new/deep/c.txt": "three\n"}
}

func target(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range before() {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// content returns the names and contents of a tree. Empty directories end in a slash.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, name)
		if err = errors.Join(err, relErr); err != nil || rel == "." {
			return err
		}
		if e.IsDir() {
			if entries, err := os.ReadDir(name); err != nil || len(entries) == 0 {
				found[rel+"/"] = ""
			}
			return nil
		}
		text, err := os.ReadFile(name)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// planned returns the plan that turns before into after, with the old and new contents.
func planned(t *testing.T, w *workspace.Workspace, project string, root *checkpoint.Root, dir string) (p checkpoint.Plan, old, fresh [][]byte) {
	t.Helper()
	p = checkpoint.Plan{
		SchemaVersion: 1, Type: "file_checkpoint", ID: w.Env.IDs.New("cp"), ProjectID: project, Root: dir, Identity: root.Identity, Refuse: true,
		Source: checkpoint.Source{Caller: true},
	}
	was, is := before(), after()
	for _, name := range []string{"a.txt", "gone.txt", "new/deep/c.txt", "run.sh", "sub/b.txt"} {
		f := checkpoint.File{Path: name, Place: name, Temp: ".ac-" + strings.ReplaceAll(name, "/", "-") + ".tmp"}
		text, there := was[name]
		old, fresh = append(old, []byte(text)), append(fresh, []byte(is[name]))
		if there {
			f.Base, f.OldMode = checkpoint.Hash([]byte(text)), 0o644
		}
		if text, there := is[name]; there {
			f.New, f.NewMode = checkpoint.Hash([]byte(text)), 0o644
		}
		if name == "run.sh" {
			f.NewMode = 0o755
		}
		p.Files = append(p.Files, f)
	}
	return p, old, fresh
}

// applied carries out the plan as one unit with its event. It includes the first calls, which
// only open the target, so that they can fail too.
func applied(ctx context.Context, t *testing.T, w *workspace.Workspace, s stage, dir string) error {
	t.Helper()
	var root *checkpoint.Root
	err := w.Update(ctx, func(u *workspace.Unit) (err error) {
		if root, err = w.LockTarget(ctx, dir); err != nil {
			return err
		}
		plan, old, fresh := planned(t, w, s.project, root, dir)
		if _, err = u.Checkpoint(plan, old, fresh, root); err != nil {
			return err
		}
		draft, err := w.Events.Draft(events.Draft{RunID: s.run, SessionRef: "local_" + s.run, Actor: "human", Visibility: "managers", Type: events.ArtifactApplied}, plan.Event(nil))
		u.Append(s.log, draft)
		return err
	})
	if root != nil {
		err = errors.Join(err, root.Close())
	}
	return err
}

func eventsOf(t *testing.T, dir string, s stage, kind string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, s.log))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if json.Valid([]byte(line)) && strings.Contains(line, `"type":"`+kind+`"`) { // a dead writer leaves a torn line
			lines = append(lines, line)
		}
	}
	return lines
}

func TestCheckpointUnderFaults(t *testing.T) {
	t.Parallel()
	base, s := template(t)
	for _, kind := range kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := 1
			for more := true; more && !t.Failed(); n += step() * step() {
				more = checkpointFaultAt(t, base, s, kind, n)
			}
			if n < 120 {
				t.Errorf("only %d calls were seen", n)
			}
		})
	}
}

func checkpointFaultAt(t *testing.T, base string, s stage, kind faultfs.Kind, n int) (more bool) {
	t.Helper()
	ctx, dir, repo := context.Background(), copied(t, base), target(t)
	plan := faultfs.NewPlan(0, kind)
	env := workspace.SystemEnv()
	env.OpenFS, env.LockPatience = plan.Open, time.Minute
	if kind == faultfs.Death {
		env.PID = deadPID
	}
	w := opened(t, env, dir)
	plan.Arm(n, kind)
	failure := applied(ctx, t, w, s, repo)
	hit := plan.Hit()
	plan.Arm(0, kind)
	if hit == "" && failure != nil {
		t.Fatalf("without a fault: %v", failure)
	}
	// The next writer completes what could not be undone, and removes what is finished.
	interrupted := failure != nil && (strings.Contains(failure.Error(), "the next writer finishes it") || strings.Contains(hit, ", remove"))
	if failure != nil && kind != faultfs.Death && !interrupted && !maps.Equal(content(t, repo), before()) {
		t.Errorf("%s: it failed with %v, and the tree has %v", hit, failure, content(t, repo))
	}
	if err := plan.CloseAll(); err != nil {
		t.Errorf("%s: %v", hit, err)
	}
	aged(t, dir)
	env = workspace.SystemEnv()
	env.OpenFS, env.LockPatience = faultfs.NewPlan(0, faultfs.Broken).Open, time.Minute
	w = opened(t, env, dir)
	if err := w.Recover(ctx); err != nil {
		t.Fatalf("%s: another process cannot settle: %v", hit, err)
	}
	tree, told := content(t, repo), eventsOf(t, dir, s, events.ArtifactApplied)
	switch {
	case maps.Equal(tree, after()) && len(told) == 1:
		if st, err := os.Stat(filepath.Join(repo, "run.sh")); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%s: run.sh is %v, %v", hit, st.Mode(), err)
		}
	case maps.Equal(tree, before()) && len(told) == 0 && failure != nil:
	default:
		t.Errorf("%s: it gave %v, and the tree has %v, the log %q", hit, failure, tree, told)
	}
	if w.NeedsRecovery() {
		t.Errorf("%s: something is left in the journal", hit)
	}
	return hit != ""
}

// TestAChangedFile lets a person save a file between planning and writing. Their file stays, and
// nothing is applied.
func TestAChangedFile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.txt", "gone.txt", "new/deep/c.txt", "sub/b.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, s := template(t)
			repo := target(t)
			env := workspace.SystemEnv()
			w := opened(t, env, dir)
			var root *checkpoint.Root
			err := w.Update(t.Context(), func(u *workspace.Unit) (err error) {
				if root, err = w.LockTarget(t.Context(), repo); err != nil {
					return err
				}
				plan, old, fresh := planned(t, w, s.project, root, repo)
				file := filepath.Join(repo, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("mine\n"), 0o600)); err != nil {
					return err
				}
				_, err = u.Checkpoint(plan, old, fresh, root)
				return err
			})
			problem, conflict := checkpoint.ConflictOf(err)
			if !conflict || problem.Path != name {
				t.Errorf("%+v, %v", problem, err)
			}
			want := before()
			want[name] = "mine\n"
			if got := content(t, repo); !maps.Equal(got, want) {
				t.Errorf("%v", got)
			}
			if err := root.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAChangeBeforeRecovery lets a person save a file after the writer died. It stays, recovery
// completes the others, and the event reports the conflict.
func TestAChangeBeforeRecovery(t *testing.T) {
	t.Parallel()
	base, s := template(t)
	for n := 120; ; n -= 5 {
		dir, repo := copied(t, base), target(t)
		plan := faultfs.NewPlan(0, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS, env.PID = plan.Open, deadPID
		w := opened(t, env, dir)
		plan.Arm(n, faultfs.Death)
		_ = applied(t.Context(), t, w, s, repo)
		if err := plan.CloseAll(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(repo, "sub/b.txt")); err != nil || string(text) != "two\n" {
			continue // it died too late
		}
		if intents, err := os.ReadDir(filepath.Join(dir, ".local/journal")); err != nil || len(intents) == 0 {
			t.Fatal("it never died in between")
		}
		if err := os.WriteFile(filepath.Join(repo, "sub/b.txt"), []byte("mine\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		aged(t, dir)
		if err := opened(t, workspace.SystemEnv(), dir).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := after()
		want["sub/b.txt"] = "mine\n"
		if got := content(t, repo); !maps.Equal(got, want) {
			t.Errorf("%v", got)
		}
		told := eventsOf(t, dir, s, events.ArtifactApplied)
		if len(told) != 1 || !strings.Contains(told[0], `"recovered":true`) || !strings.Contains(told[0], `"reason":"conflict"`) {
			t.Errorf("%q", told)
		}
		return
	}
}

// TestDisplacedTwice lets a writer die while a file that a person saved exists under both names,
// as it does during a move back. Recovery keeps one.
func TestDisplacedTwice(t *testing.T) {
	t.Parallel()
	base, s := template(t)
	for n := 400; n > 0; n-- {
		dir, repo := copied(t, base), target(t)
		plan := faultfs.NewPlan(0, faultfs.Death)
		env := workspace.SystemEnv()
		env.OpenFS, env.PID = plan.Open, deadPID
		w := opened(t, env, dir)
		plan.Arm(n, faultfs.Death)
		_ = applied(t.Context(), t, w, s, repo)
		if err := plan.CloseAll(); err != nil {
			t.Fatal(err)
		}
		staged, err := filepath.Glob(filepath.Join(repo, "sub", ".ac-*"))
		if text, readErr := os.ReadFile(filepath.Join(repo, "a.txt")); err != nil || readErr != nil || len(staged) == 0 || string(text) != "one, too\n" {
			continue // the first file is not in place yet, or the writer is done
		}
		for _, name := range []string{"sub/b.txt", filepath.Join("sub", filepath.Base(staged[0]))} {
			if err := os.WriteFile(filepath.Join(repo, name), []byte("mine\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		aged(t, dir)
		if err := opened(t, workspace.SystemEnv(), dir).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := after()
		want["sub/b.txt"] = "mine\n"
		if got := content(t, repo); !maps.Equal(got, want) {
			t.Errorf("%v", got)
		}
		if told := eventsOf(t, dir, s, events.ArtifactApplied); len(told) != 1 || !strings.Contains(told[0], `"reason":"conflict"`) {
			t.Errorf("%q", told)
		}
		return
	}
	t.Fatal("it never died in between")
}

// TestAGoneTarget recovers a checkpoint whose directory no longer exists. The workspace stays
// usable, and the event reports it.
func TestAGoneTarget(t *testing.T) {
	t.Parallel()
	dir, s := template(t)
	repo := target(t)
	plan := faultfs.NewPlan(0, faultfs.Death)
	env := workspace.SystemEnv()
	env.OpenFS, env.PID = func(at string) (durable.FS, error) {
		if at == repo {
			return durable.OpenRoot(at)
		}
		return plan.Open(at)
	}, deadPID
	w := opened(t, env, dir)
	for n := 1; !w.NeedsRecovery(); n++ { // until the plan is committed to the journal
		plan.Arm(n, faultfs.Death)
		if err := applied(t.Context(), t, w, s, repo); err == nil {
			t.Fatal("it was applied")
		}
		if err := plan.CloseAll(); err != nil {
			t.Fatal(err)
		}
		plan = faultfs.NewPlan(0, faultfs.Death)
		aged(t, dir)
		w = opened(t, env, dir)
	}
	if err := os.Rename(repo, repo+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := opened(t, workspace.SystemEnv(), dir).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := eventsOf(t, dir, s, events.ArtifactApplied)
	if len(told) != 1 || !strings.Contains(told[0], "cannot be reached") || !strings.Contains(told[0], fmt.Sprintf("%q:[]", "files")) {
		t.Errorf("%q", told)
	}
}

// TestABusyTarget checks that locking a directory that another checkpoint holds fails with
// TargetBusy.
func TestABusyTarget(t *testing.T) {
	t.Parallel()
	dir, _ := template(t)
	repo := target(t)
	env := workspace.SystemEnv()
	env.LockPatience = 50 * time.Millisecond
	first, err := opened(t, workspace.SystemEnv(), dir).LockTarget(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened(t, env, dir).LockTarget(t.Context(), repo); !fault.Is(err, fault.TargetBusy) {
		t.Errorf("%v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
}
