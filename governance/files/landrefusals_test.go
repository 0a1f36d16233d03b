package files

// Refused landings: nothing changes, and the error names the reason.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/workspace/doc"
)

// refusal is a reason to refuse a landing. The run's worktree has a changed a.txt.
type refusal struct {
	name string
	make func(t *testing.T, s *stage, run, dir string, o *LandOrder)
	want fault.Reason
	says string
}

func refusals() []refusal {
	return []refusal{
		{"the same lines", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			put(t, s.repo, "a.txt", "mine\n")
			git(t, s.repo, "commit", "--quiet", "-am", "Mine")
		}, fault.Conflicts, `"a.txt"`},
		{"uncommitted changes", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			put(t, s.repo, "a.txt", "mine\n")
		}, fault.TargetBusy, "following files would be overwritten by merge:\na.txt\n"},
		{"staged changes", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			put(t, s.repo, "a.txt", "mine\n")
			git(t, s.repo, "add", "a.txt")
		}, fault.TargetBusy, "following files would be overwritten by merge:\na.txt\n"},
		{"a file in the way", func(t *testing.T, s *stage, _, dir string, _ *LandOrder) {
			put(t, dir, "new file", "theirs\n")
			put(t, s.repo, "new file", "mine\n")
		}, fault.TargetBusy, "untracked"},
		{"a snapshot", func(t *testing.T, s *stage, run, _ string, _ *LandOrder) {
			s.change(t, run, func(r *doc.Run) { r.WorktreeSnapshot = true })
		}, fault.SnapshotBase, "uncommitted files"},
		{"no worktree", func(t *testing.T, s *stage, run, _ string, _ *LandOrder) {
			s.change(t, run, func(r *doc.Run) { r.Spec.WorktreeRel, r.Spec.WorktreeBranch = "", "" })
		}, fault.NoWorktree, "no worktree"},
		{"at work", func(_ *testing.T, s *stage, run, _ string, _ *LandOrder) {
			s.alive[run] = true
		}, fault.RunBusy, "still works"},
		{"a workflow at work", func(t *testing.T, s *stage, run, _ string, _ *LandOrder) {
			s.change(t, run, func(r *doc.Run) {
				r.WorktreeRepoID, r.WorktreeRel, r.WorktreeBranch, r.Spec = "repo", r.Spec.WorktreeRel, r.Spec.WorktreeBranch, nil
			})
		}, fault.RunBusy, "still works"},
		{"no branch", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			git(t, s.repo, "checkout", "--quiet", "--detach")
		}, fault.NoTarget, "no branch is checked out"},
		{"an unknown branch", func(_ *testing.T, _ *stage, _, _ string, o *LandOrder) {
			o.Into = "nowhere"
		}, fault.NotFound, "branch nowhere does not exist"},
		{"what is no branch", func(_ *testing.T, _ *stage, _, _ string, o *LandOrder) {
			o.Into = "main~0"
		}, fault.NotFound, "branch main~0 does not exist"},
		{"a branch of another worktree", func(t *testing.T, s *stage, _, _ string, o *LandOrder) {
			git(t, s.repo, "worktree", "add", "--quiet", "-b", "next", filepath.Join(filepath.Dir(s.repo), "next"))
			o.Into = "next"
		}, fault.TargetBusy, "branch next is checked out in "},
		{"one branch in two worktrees", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			git(t, s.repo, "worktree", "add", "--quiet", "--force", filepath.Join(filepath.Dir(s.repo), "twin"), "main")
		}, fault.TargetBusy, "branch main is checked out in "},
		{"a repository within", func(t *testing.T, _ *stage, _, dir string, _ *LandOrder) {
			put(t, dir, "lib/x", "x\n")
			git(t, filepath.Join(dir, "lib"), "init", "--quiet")
			git(t, filepath.Join(dir, "lib"), "add", ".")
			git(t, filepath.Join(dir, "lib"), "commit", "--quiet", "-m", "Theirs")
		}, fault.FilesRefused, `"lib" is a submodule`},
		{"a file of a workspace within", func(t *testing.T, s *stage, _, dir string, _ *LandOrder) {
			put(t, s.repo, ".git/info/exclude", ".ac/\n")
			put(t, s.repo, ".ac/company/company.yaml", "x\n")
			put(t, dir, ".ac/company/policy.yaml", "x\n")
			git(t, dir, "add", "--force", ".")
		}, fault.FilesRefused, `".ac/company/policy.yaml" the path leads into a workspace`},
		{"a file that a filter of the repository is for", func(t *testing.T, s *stage, _, dir string, _ *LandOrder) {
			git(t, s.repo, "config", "filter.hide.clean", "tr a-z b-za")
			put(t, dir, ".gitattributes", "*.secret filter=hide\n")
			put(t, dir, "x.secret", "plain\n")
		}, fault.FilesRefused, `"x.secret" passes through a filter`},
		{"a huge file", func(t *testing.T, _ *stage, _, dir string, _ *LandOrder) {
			put(t, dir, "huge", "")
			if err := os.Truncate(filepath.Join(dir, "huge"), 100_000_001); err != nil {
				t.Fatal(err)
			}
		}, fault.FilesRefused, `"huge" has more than 100 MB`},
		{"an unfinished merge in the worktree", func(t *testing.T, _ *stage, _, dir string, _ *LandOrder) {
			git(t, dir, "checkout", "--quiet", "-B", "side")
			git(t, dir, "commit", "--quiet", "-am", "One")
			git(t, dir, "checkout", "--quiet", "-B", "other", "HEAD^")
			put(t, dir, "a.txt", "two\n")
			git(t, dir, "commit", "--quiet", "-am", "Two")
			git(t, dir, "checkout", "--quiet", "--merge", "-B", "third")
			put(t, dir, "a.txt", "three\n")
			git(t, dir, "stash", "--quiet")
			put(t, dir, "a.txt", "four\n")
			git(t, dir, "commit", "--quiet", "-am", "Three")
			conflicting(dir, "stash", "pop")
		}, fault.Conflicts, "a merge in the worktree"},
		{"nobody's name", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			git(t, s.repo, "config", "--unset", "user.name")
			git(t, s.repo, "config", "--unset", "user.email")
		}, fault.GitFailed, "Please tell me who you are"},
		{"git at work", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			put(t, s.repo, ".git/index.lock", "")
		}, fault.TargetBusy, "index.lock"},
		{"a merge that goes on", func(t *testing.T, s *stage, _, _ string, _ *LandOrder) {
			git(t, s.repo, "checkout", "--quiet", "-b", "b")
			put(t, s.repo, "sub/b.txt", "b\n")
			git(t, s.repo, "commit", "--quiet", "-am", "B")
			git(t, s.repo, "checkout", "--quiet", "main")
			put(t, s.repo, "sub/b.txt", "main\n")
			git(t, s.repo, "commit", "--quiet", "-am", "Main")
			conflicting(s.repo, "merge", "b")
		}, fault.TargetBusy, "nothing was landed"},
		{"an unknown run", func(_ *testing.T, _ *stage, _, _ string, o *LandOrder) {
			o.RunID = "run_nobody"
		}, fault.NotFound, "run run_nobody does not exist"},
		{"a repository that is gone", func(_ *testing.T, s *stage, _, _ string, _ *LandOrder) {
			s.Machine.RepoRoots = nil
		}, fault.NoTarget, "not mapped"},
	}
}

// conflicting runs a git command that ends in a conflict.
func conflicting(dir string, args ...string) {
	cmd := gitCommand(dir, args...)
	_ = cmd.Run() // fails because of the conflict
}

func TestLandRefused(t *testing.T) {
	t.Parallel()
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := newLanding(t)
			run, dir := s.run(t)
			put(t, dir, "a.txt", "theirs\n")
			o := s.landOrder(run)
			r.make(t, s, run, dir, &o)
			before, there := s.standing(t), tree(t, dir)
			done, err := s.Land(t.Context(), o)
			if !fault.Is(err, r.want) || !strings.Contains(err.Error(), r.says) {
				t.Fatalf("%+v, %v", done, err)
			}
			if got := s.standing(t); got != before {
				t.Errorf("it was\n%s\nit is\n%s", before, got)
			}
			if got := tree(t, dir); len(got) != len(there) || got["a.txt"] != there["a.txt"] {
				t.Errorf("the worktree: %q", got)
			}
			if s.landings(t, run) != 0 || s.record(t, run).Landed != nil || s.Workspace.Exists(intentName(run)) {
				t.Error("it is recorded")
			}
		})
	}
}
