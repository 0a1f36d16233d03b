package files

// Landing runs in real repositories.

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// newLanding returns a stage whose git user is Ann, isolated from this machine's git settings.
func newLanding(t testing.TB) *stage {
	t.Helper()
	s := newStage(t)
	home := resolved(t)
	s.Environ = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	git(t, s.repo, "config", "user.name", "Ann")
	git(t, s.repo, "config", "user.email", "ann@example.org")
	return s
}

func (s *stage) landOrder(run string) LandOrder {
	return LandOrder{ProjectID: s.project, RunID: run, Message: "Do it", Actor: human()}
}

func (s *stage) record(t testing.TB, run string) doc.Run {
	t.Helper()
	record, err := workspace.Load(s.Workspace, doc.RunCodec, workspace.RunFile(s.project, run))
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// change rewrites the record of a run.
func (s *stage) change(t testing.TB, run string, how func(*doc.Run)) {
	t.Helper()
	file := workspace.RunFile(s.project, run)
	err := s.Workspace.Update(t.Context(), func(u *workspace.Unit) error {
		r, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		how(&r)
		return workspace.Put(u, doc.RunCodec, file, r, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// landings counts the landed events of a run.
func (s *stage) landings(t testing.TB, run string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, workspace.LogFile(s.project, run)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), `"type":"`+events.RunLanded+`"`)
}

func (s *stage) head(t testing.TB) string { return git(t, s.repo, "rev-parse", "HEAD") }

// standing returns the state of the repository that a refused landing must not change.
func (s *stage) standing(t testing.TB) string {
	t.Helper()
	return git(t, s.repo, "for-each-ref") + "\n" + git(t, s.repo, "status", "--porcelain") + fmt.Sprint(tree(t, s.repo)) +
		git(t, s.repo, "ls-files", "--stage") + git(t, s.repo, "worktree", "list")
}

// unusualWork fills a worktree with every kind of change: odd names, binary content, a link, a
// program, a rename, a deletion and an ignored file.
func unusualWork(t testing.TB, dir string) {
	t.Helper()
	put(t, dir, "a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	put(t, dir, ".gitignore", "*.log\n")
	put(t, dir, "built.log", "ignored\n")
	put(t, dir, "with space/and\nline", "odd\n")
	put(t, dir, "-n", "dash\n")
	put(t, dir, ":(top)x", "magic\n")
	put(t, dir, "grün.txt", "ü\n")
	put(t, dir, "pic.bin", "\x00\x01\xff")
	put(t, dir, "run.sh", "#!/bin/sh\n")
	git(t, dir, "mv", "sub/b.txt", "moved.txt")
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "run.sh"), 0o755), os.Symlink("a.txt", filepath.Join(dir, "link")), os.Remove(filepath.Join(dir, "gone.txt")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLand(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	unusualWork(t, dir)
	git(t, dir, "config", "user.name", "Ann")
	git(t, dir, "add", "a.txt")
	git(t, dir, "commit", "--quiet", "-m", "The agent's own")
	put(t, s.repo, "mine.txt", "mine\n") // untracked, but not in the way
	want := tree(t, dir)
	delete(want, "built.log")
	want["mine.txt"] = "mine\n"
	old := s.head(t)

	dry, err := s.Land(t.Context(), LandOrder{ProjectID: s.project, RunID: run, DryRun: true, Actor: human()})
	if err != nil || dry.Commit != nil || dry.Files != 12 || !dry.DryRun || s.head(t) != old || s.landings(t, run) != 0 {
		t.Fatalf("a dry run: %+v, %v", dry, err)
	}
	done, err := s.Land(t.Context(), s.landOrder(run))
	if err != nil || done.Commit == nil || *done.Commit != s.head(t) || done.Branch != "main" || done.Already || len(done.Notes) != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if dry.Files != done.Files || dry.Added != done.Added || dry.Removed != done.Removed {
		t.Errorf("dry %+v, done %+v", dry, done)
	}
	if got := tree(t, s.repo); !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := git(t, s.repo, "log", "-1", "--format=%P|%an <%ae>|%B"); got != old+"|Ann <ann@example.org>|Do it\n\nAc-Run: "+run+"\nAc-Agent: agent_a" {
		t.Errorf("%q", got)
	}
	if got := git(t, s.repo, "status", "--porcelain"); got != "?? mine.txt" {
		t.Errorf("%q", got)
	}
	if st, err := os.Stat(filepath.Join(s.repo, "run.sh")); err != nil || st.Mode()&0o100 == 0 {
		t.Errorf("%v, %v", st, err)
	}
	r := s.record(t, run).Landed
	if r == nil || r.Commit != *done.Commit || r.Base != old || r.Branch != "main" || r.RepoID != "repo" || r.Files != 12 || r.Actor != "human" || s.landings(t, run) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the worktree: %v", err)
	}
	if git(t, s.repo, "for-each-ref", "refs/heads/ac") == "" {
		t.Error("the branch of the run is gone")
	}
	again, err := s.Land(t.Context(), s.landOrder(run))
	if err != nil || !again.Already || again.Commit == nil || *again.Commit != *done.Commit || s.head(t) != *done.Commit || s.landings(t, run) != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// TestLandOnWhatMoved lands on a branch that has moved on. It checks that changes of other files,
// and of other lines of the same file, are merged.
func TestLandOnWhatMoved(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	put(t, dir, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	put(t, s.repo, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	put(t, s.repo, "other.txt", "x\n")
	git(t, s.repo, "add", ".")
	git(t, s.repo, "commit", "--quiet", "-m", "Mine")
	put(t, s.repo, "sub/b.txt", "not committed\n")
	mine := s.head(t)
	done, err := s.Land(t.Context(), s.landOrder(run))
	if err != nil || done.Files != 1 || git(t, s.repo, "rev-parse", "HEAD^") != mine {
		t.Fatalf("%+v, %v", done, err)
	}
	want := maps.Clone(base())
	want["a.txt"], want["other.txt"], want["sub/b.txt"] = "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "x\n", "not committed\n"
	if got := tree(t, s.repo); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := git(t, s.repo, "status", "--porcelain"); got != "M sub/b.txt" {
		t.Errorf("%q", got)
	}
}

// TestLandElsewhere lands on a branch that is not checked out and keeps the worktree. It also lands
// from a removed worktree's branch, with a folder below the repository as the root.
func TestLandElsewhere(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	git(t, s.repo, "branch", "next")
	run, dir := s.run(t)
	put(t, dir, "a.txt", "next\n")
	before, o := tree(t, s.repo), s.landOrder(run)
	o.Into, o.Keep = "next", true
	main := s.head(t)
	done, err := s.Land(t.Context(), o)
	if err != nil || done.Branch != "next" || git(t, s.repo, "rev-parse", "next") != *done.Commit || s.head(t) != main || !maps.Equal(tree(t, s.repo), before) {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the worktree: %v", err)
	}
	run, dir = s.run(t)
	put(t, dir, "sub/b.txt", "committed\n")
	git(t, dir, "commit", "--quiet", "-am", "Own")
	git(t, s.repo, "worktree", "remove", dir)
	s.Machine.RepoRoots = map[string]string{"repo": filepath.Join(s.repo, "sub")}
	if done, err = s.Land(t.Context(), s.landOrder(run)); err != nil || done.Files != 1 || tree(t, s.repo)["sub/b.txt"] != "committed\n" {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := git(t, s.repo, "status", "--porcelain"); got != "" {
		t.Errorf("%q", got)
	}
}

// TestNothingToLand checks that a landing is a no-op for a run without changes and for one whose
// changes the branch already has.
func TestNothingToLand(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	for _, text := range []string{base()["a.txt"], "same\n"} {
		put(t, dir, "a.txt", text)
		put(t, s.repo, "a.txt", text)
		git(t, s.repo, "commit", "--quiet", "--allow-empty", "-am", "Mine")
		before := s.standing(t)
		done, err := s.Land(t.Context(), s.landOrder(run))
		if err != nil || done.Commit != nil || done.Files != 0 || done.Already || s.standing(t) != before || s.landings(t, run) != 0 {
			t.Errorf("%+v, %v", done, err)
		}
	}
}

// TestLandWhileIdle checks that a live session can be landed only while it is idle.
func TestLandWhileIdle(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	put(t, dir, "a.txt", "new\n")
	s.alive[run] = true
	if _, err := s.Land(t.Context(), s.landOrder(run)); !fault.Is(err, fault.RunBusy) {
		t.Errorf("%v", err)
	}
	s.Idle = func(_, id string) bool { return id == run }
	done, err := s.Land(t.Context(), s.landOrder(run))
	if err != nil || done.Commit == nil {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestLandWritesInTheWorkspace checks that a landing does not write git's output through a link
// that leads out of the workspace.
func TestLandWritesInTheWorkspace(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	put(t, dir, "a.txt", "new\n")
	outside := t.TempDir()
	put(t, outside, "precious", "mine\n")
	if err := os.RemoveAll(filepath.Join(s.dir, filepath.FromSlash(workspace.TempDir))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.dir, filepath.FromSlash(workspace.TempDir))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("precious", filepath.Join(outside, "git_"+run+".txt")); err != nil {
		t.Fatal(err)
	}
	before := s.head(t)
	if done, err := s.Land(t.Context(), s.landOrder(run)); err == nil {
		t.Errorf("landed: %+v", done)
	}
	text, err := os.ReadFile(filepath.Join(outside, "precious"))
	if err != nil || string(text) != "mine\n" || s.head(t) != before {
		t.Errorf("%q, %v, %s", text, err, s.head(t))
	}
}

// TestHooksAreNotRun checks that a landing skips the repository's hooks and reports those that a
// commit would have run.
func TestHooksAreNotRun(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"", "hooks"} {
		s := newLanding(t)
		run, dir := s.run(t)
		put(t, dir, "a.txt", "new\n")
		hooks := filepath.Join(s.repo, ".git", "hooks")
		if place != "" {
			hooks = filepath.Join(s.repo, ".git", place)
			git(t, s.repo, "config", "core.hooksPath", ".git/"+place)
		}
		for _, name := range []string{"pre-commit", "commit-msg", "post-merge", "reference-transaction"} {
			put(t, hooks, name, "#!/bin/sh\nexit 1\n")
			if err := os.Chmod(filepath.Join(hooks, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		done, err := s.Land(t.Context(), s.landOrder(run))
		if err != nil || done.Commit == nil || !slices.Equal(done.Notes, []string{"the hooks of the repository were not run: pre-commit, commit-msg"}) {
			t.Errorf("%+v, %v", done, err)
		}
	}
}

// TestLineEnds lands in a repository whose files have other line endings in the work tree than in
// commits (core.autocrlf).
func TestLineEnds(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	git(t, s.repo, "config", "core.autocrlf", "true")
	run, dir := s.run(t)
	put(t, dir, "a.txt", "one\r\ntwo\r\n")
	done, err := s.Land(t.Context(), s.landOrder(run))
	if err != nil || done.Files != 1 || done.Added != 2 || done.Removed != 9 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := git(t, s.repo, "cat-file", "blob", "HEAD:a.txt"); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	if got := tree(t, s.repo)["a.txt"]; got != "one\r\ntwo\r\n" || git(t, s.repo, "status", "--porcelain") != "" {
		t.Errorf("%q", got)
	}
}

// TestLandApproval checks that a manager's landing waits for a human if the project requires it.
func TestLandApproval(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	s.guarded(t)
	run, dir := s.run(t)
	put(t, dir, "a.txt", "new\n")
	o, before := s.landOrder(run), s.standing(t)
	o.Actor = policy.Actor{ID: "w", Role: "worker"}
	if _, err := s.Land(t.Context(), o); !fault.Is(err, fault.Denied) {
		t.Errorf("a worker: %v", err)
	}
	o.Actor = policy.Actor{ID: "mia", Role: "manager"}
	_, err := s.Land(t.Context(), o)
	id := waiting(t, err)
	if _, err := s.Land(t.Context(), o); waiting(t, err) != id || s.standing(t) != before {
		t.Errorf("it waits twice, or something changed: %v", err)
	}
	ruling := governance.Ruling{Item: governance.Item{ProjectID: s.project, ArtifactID: id}, Decision: governance.Approved, Actor: o.Actor}
	if _, err := s.Resolve(t.Context(), ruling); !fault.Is(err, fault.Denied) {
		t.Errorf("the manager approves: %v", err)
	}
	ruling.Actor = human()
	put(t, dir, "a.txt", "other\n")
	if _, err := s.Resolve(t.Context(), ruling); !fault.Is(err, fault.FilesRefused) || s.standing(t) != before {
		t.Errorf("the work changed since: %v", err)
	}
	put(t, dir, "a.txt", "new\n")
	done, err := s.Resolve(t.Context(), ruling)
	if err != nil || done.ReviewID == "" || tree(t, s.repo)["a.txt"] != "new\n" || s.landings(t, run) != 1 || s.record(t, run).Landed.Actor != "human" {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := s.Resolve(t.Context(), ruling); !fault.Is(err, fault.Conflict) {
		t.Errorf("again: %v", err)
	}
	other, dir := s.run(t)
	put(t, dir, "sub/b.txt", "new\n")
	o.RunID = other
	_, err = s.Land(t.Context(), o)
	ruling.ArtifactID, ruling.Decision = waiting(t, err), governance.Denied
	if done, err := s.Resolve(t.Context(), ruling); err != nil || done.ReviewID == "" || s.landings(t, other) != 0 {
		t.Errorf("%+v, %v", done, err)
	}
	// A denial is logged where an approval is: in the run's log, with the run as its resource.
	for log, want := range map[string]int{workspace.LogFile(s.project, other): 1, workspace.AuditLog: 0} {
		text, err := os.ReadFile(filepath.Join(s.dir, log))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Count(string(text), `"decision":"denied"`) != want || strings.Contains(string(text), `"resource_id":"caller"`) {
			t.Errorf("%s: %s", log, text)
		}
	}
	o.Actor = human()
	if done, err := s.Land(t.Context(), o); err != nil || done.Commit == nil {
		t.Errorf("a human lands it: %+v, %v", done, err)
	}
}
