package workspace_test

// Every write operation under faults: the n-th file system call fails, with -every-fault for
// every n and in every way. Afterwards the workspace opens and is valid, the operation happened
// entirely or not at all, and acknowledged changes are there.

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/internal/durable/faultfs"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
)

var everyFault = flag.Bool("every-fault", false, "let every call fail in every way, instead of some calls in two ways")

// step is the distance from one failing call to the next.
func step() int {
	if *everyFault {
		return 1
	}
	return 3
}

// kinds returns the ways to fail.
func kinds() []faultfs.Kind {
	if *everyFault {
		return []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death}
	}
	return []faultfs.Kind{faultfs.Short, faultfs.Death}
}

// deadPID is above any pid that a system assigns.
const deadPID = 1 << 30

// operation is one operation to run under faults.
type operation struct {
	name string
	do   func(ctx context.Context, w *workspace.Workspace, s stage) error
	// happened reports whether its whole effect is there, or none of it.
	happened func(t *testing.T, w *workspace.Workspace, s stage) (all, none bool)
}

// stage is the content of every workspace in these tests.
type stage struct {
	project, run, log string
	repo              string // a directory outside the workspace
}

func count(t *testing.T, w *workspace.Workspace, dir string) int {
	t.Helper()
	names, err := workspace.Dirs(w.FS, dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// exactly reports whether a count grew by one or stayed the same.
func exactly(n, before int) (all, none bool) { return n == before+1, n == before }

func operations() []operation {
	return []operation{
		{"team", func(ctx context.Context, w *workspace.Workspace, _ stage) error {
			_, err := w.NewTeam(ctx, "New")
			return err
		}, func(t *testing.T, w *workspace.Workspace, _ stage) (bool, bool) {
			return exactly(count(t, w, workspace.TeamsDir), 1)
		}},
		{"agent", func(ctx context.Context, w *workspace.Workspace, _ stage) error {
			_, err := w.NewAgent(ctx, workspace.AgentSpec{Name: "New", Role: "worker", Provider: "codex"})
			return err
		}, func(t *testing.T, w *workspace.Workspace, _ stage) (bool, bool) {
			return exactly(count(t, w, workspace.AgentsDir), 2)
		}},
		{"project", func(ctx context.Context, w *workspace.Workspace, _ stage) error {
			_, err := w.NewProject(ctx, "New")
			return err
		}, func(t *testing.T, w *workspace.Workspace, _ stage) (bool, bool) {
			return exactly(count(t, w, workspace.ProjectsDir), 1)
		}},
		{"project with defaults", func(ctx context.Context, w *workspace.Workspace, _ stage) error {
			_, err := w.CreateProjectWithDefaults(ctx, "New", "", []string{"a"})
			return err
		}, func(t *testing.T, w *workspace.Workspace, _ stage) (bool, bool) {
			projects, agents := count(t, w, workspace.ProjectsDir), count(t, w, workspace.AgentsDir)
			return projects == 2 && agents == 3, projects == 1 && agents == 2
		}},
		{"replace and remove", func(ctx context.Context, w *workspace.Workspace, s stage) error {
			dir := workspace.ProjectDir(s.project)
			return w.Update(ctx, func(u *workspace.Unit) error {
				if err := u.Write(dir+"/new.txt", []byte("new"), 0o644); err != nil {
					return err
				}
				if err := u.Remove(dir + "/none.txt"); err != nil {
					return err
				}
				return u.Remove(dir + "/memory.md")
			})
		}, func(_ *testing.T, w *workspace.Workspace, s stage) (bool, bool) {
			fresh, old := w.Exists(workspace.ProjectDir(s.project)+"/new.txt"), w.Exists(workspace.MemoryFile(s.project))
			return fresh && !old, !fresh && old
		}},
		{"link", func(ctx context.Context, w *workspace.Workspace, s stage) error {
			_, err := w.LinkRepo(ctx, s.project, "new", "")
			return err
		}, func(t *testing.T, w *workspace.Workspace, s stage) (bool, bool) {
			links, err := w.RepoLinks(s.project)
			if err != nil {
				t.Error(err)
			}
			return exactly(len(links), 1)
		}},
		{"repo root", func(ctx context.Context, w *workspace.Workspace, s stage) error {
			_, err := w.SetRepoRoot(ctx, "new", s.repo, false)
			return err
		}, func(t *testing.T, w *workspace.Workspace, _ stage) (bool, bool) {
			machine, err := w.Machine()
			if err != nil {
				t.Error(err)
			}
			return exactly(len(machine.RepoRoots), 0)
		}},
		{"run", func(ctx context.Context, w *workspace.Workspace, s stage) error {
			_, err := runs.Create(ctx, w, s.project, "agent", "cmd")
			return err
		}, func(t *testing.T, w *workspace.Workspace, s stage) (bool, bool) {
			packs, rows := count(t, w, workspace.ProjectDir(s.project)+"/context_packs"), count(t, w, workspace.RunsDir(s.project))
			return packs == 2 && rows == 2, packs == 1 && rows == 1
		}},
		{"append", func(ctx context.Context, w *workspace.Workspace, s stage) error {
			draft, err := note(w, s, "test.note")
			if err != nil {
				return err
			}
			return w.Append(ctx, s.log, draft)
		}, func(t *testing.T, w *workspace.Workspace, s stage) (bool, bool) {
			return exactly(found(t, w, s, "test.note"), 0)
		}},
		{"unit", unit, unitHappened},
	}
}

func note(w *workspace.Workspace, s stage, kind string) (events.Draft, error) {
	return w.Events.Draft(events.Draft{
		RunID: s.run, SessionRef: "s", Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: kind,
	}, map[string]string{"text": "something to say"})
}

// unit ends a run as a session does: it writes the run's record, two events, a document and a
// directory.
func unit(ctx context.Context, w *workspace.Workspace, s stage) error {
	first, err := note(w, s, "test.first")
	if err != nil {
		return err
	}
	second, err := note(w, s, "test.second")
	if err != nil {
		return err
	}
	return w.Update(ctx, func(u *workspace.Unit) error {
		run, err := workspace.LoadIn(u, doc.RunCodec, workspace.RunFile(s.project, s.run))
		if err != nil {
			return err
		}
		run.Status = doc.StatusEnded
		if err := workspace.Put(u, doc.RunCodec, workspace.RunFile(s.project, s.run), run, 0o644); err != nil {
			return err
		}
		if err := u.Create("company/made", workspace.Tree{Files: []workspace.TreeFile{{Name: "a.txt", Content: []byte("a")}}}); err != nil {
			return err
		}
		u.Append(s.log, first, second)
		return u.Write("company/note.txt", []byte("note"), 0o644)
	})
}

func unitHappened(t *testing.T, w *workspace.Workspace, s stage) (all, none bool) {
	run, err := runs.Load(w, s.project, s.run)
	if err != nil {
		t.Error(err)
	}
	first, second := found(t, w, s, "test.first"), found(t, w, s, "test.second")
	made, written := w.Exists("company/made/a.txt"), w.Exists("company/note.txt")
	all = run.Status == doc.StatusEnded && first == 1 && second == 1 && made && written
	none = run.Status == doc.StatusRunning && first == 0 && second == 0 && !made && !written
	return all, none
}

// found counts the events of a type in the stage's log.
func found(t *testing.T, w *workspace.Workspace, s stage, kind string) (n int) {
	t.Helper()
	text, err := w.Read(s.log)
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if events.Type([]byte(line)) == kind {
			n++
		}
	}
	return n
}

// template creates the workspace that every case starts from.
func template(t *testing.T) (dir string, s stage) {
	t.Helper()
	ctx := context.Background()
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open // its syncs cost nothing
	dir = filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w := opened(t, env, dir)
	team, err := w.NewTeam(ctx, "Team")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.NewAgent(ctx, workspace.AgentSpec{Name: "Ann", Role: "worker", Provider: "codex", TeamID: team}); err != nil {
		t.Fatal(err)
	}
	if err := w.EnsureDefaults(ctx); err != nil {
		t.Fatal(err)
	}
	if s.project, err = w.NewProject(ctx, "P"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.LinkRepo(ctx, s.project, "old", ""); err != nil {
		t.Fatal(err)
	}
	made, err := runs.Create(ctx, w, s.project, "agent", "cmd")
	if err != nil {
		t.Fatal(err)
	}
	s.run, s.log, s.repo = made.RunID, workspace.LogFile(s.project, made.RunID), t.TempDir()
	return dir, s
}

func opened(t *testing.T, env workspace.Env, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestFaults runs every operation with each of its calls failing.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			base, s := template(t)
			for _, kind := range kinds() {
				n, dir, more := 1, "", true
				for ; more && !t.Failed(); n += step() {
					if dir == "" {
						dir = copied(t, base)
					}
					var happened bool
					if more, happened = faultAt(t, dir, s, op, kind, n); happened {
						dir = "" // the other faults start from an untouched workspace
					}
				}
				if n < 4 {
					t.Errorf("%s: only %d calls were seen", kind, n)
				}
			}
		})
	}
}

func copied(t *testing.T, base string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := os.CopyFS(dir, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// faultAt runs the operation while the n-th call fails, and checks the result. It reports whether
// there was such a call, and whether the operation happened.
func faultAt(t *testing.T, dir string, s stage, op operation, kind faultfs.Kind, n int) (more, happened bool) {
	t.Helper()
	ctx := context.Background()
	plan := faultfs.NewPlan(0, kind)
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	env.LockPatience = time.Minute // a busy machine may need it
	if kind == faultfs.Death {
		env.PID = deadPID
	}
	w := opened(t, env, dir)
	plan.Arm(n, kind)
	failure := op.do(ctx, w, s)
	hit := plan.Hit()
	plan.Arm(0, kind)
	if hit == "" {
		if failure != nil {
			t.Fatalf("without a fault: %v", failure)
		}
		return false, true
	}
	if kind != faultfs.Death {
		// The same process continues.
		if err := w.Recover(ctx); err != nil {
			t.Errorf("%s: cannot be settled: %v (the operation gave: %v)", hit, err, failure)
		}
		if left := plan.OpenFiles(); left > 0 {
			t.Errorf("%s: %d files are left open", hit, left)
		}
	}
	if err := plan.CloseAll(); err != nil {
		t.Errorf("%s: %v", hit, err)
	}
	aged(t, dir)
	return true, checkAfter(t, hit, dir, s, op, failure, kind)
}

// aged backdates a leftover lock file, so that it counts as stale.
func aged(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-3 * time.Minute)
	err := os.Chtimes(filepath.Join(dir, ".local/locks/workspace.write.lock"), old, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// checkAfter opens the workspace as another process would, and checks everything. It reports
// whether the operation happened.
func checkAfter(t *testing.T, hit, dir string, s stage, op operation, failure error, kind faultfs.Kind) bool {
	t.Helper()
	env := workspace.SystemEnv()
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	env.LockPatience = time.Minute // a busy machine may need it
	w := opened(t, env, dir)
	if err := w.Recover(context.Background()); err != nil {
		t.Fatalf("%s: another process cannot settle: %v", hit, err)
	}
	all, none := op.happened(t, w, s)
	switch {
	case !all && !none:
		t.Errorf("%s: half of it is there (the operation gave: %v)", hit, failure)
	case failure == nil && !all:
		t.Errorf("%s: it was acknowledged and is lost", hit)
	}
	if findings := validate.Folder(env, dir); len(findings.Issues) > 0 {
		t.Errorf("%s: issues: %+v", hit, findings.Issues)
	}
	report, err := runs.VerifyLog(w, s.project, s.run)
	if err != nil || len(report.VerificationIssues) > 0 {
		t.Errorf("%s: chain: %+v (%v)", hit, report, err)
	}
	for _, left := range leftovers(t, dir) {
		// Neither a dead process nor a failed removal removes files. Files with an ignored name
		// may stay then. The next writer removes the others.
		excused := kind == faultfs.Death || strings.Contains(hit, ", remove")
		if !excused || !strings.Contains(left, ".tmp-") {
			t.Errorf("%s: left behind: %s", hit, left)
		}
	}
	return all
}

// leftovers lists files that nothing uses.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, name)
		inside := strings.HasPrefix(rel, ".local/tmp/") || strings.HasPrefix(rel, ".local/journal/")
		if inside || strings.Contains(e.Name(), ".tmp-") || strings.Contains(e.Name(), ".stale-") || e.Name() == "workspace.write.lock" {
			names = append(names, rel)
		}
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
