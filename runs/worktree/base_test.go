package worktree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/runs/worktree"
)

// TestSnapshotOfTheSameMoment checks that a snapshot includes a change to a file with the
// index's own timestamp and an unchanged size. Git detects such a change only by the index's
// timestamp.
func TestSnapshotOfTheSameMoment(t *testing.T) {
	t.Parallel()
	h, repo := newHouse(t), repository(t)
	git(t, repo, "config", "core.trustctime", "false")
	file, index := filepath.Join(repo, "a.txt"), filepath.Join(repo, ".git", "index")
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	move := func(name string) {
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	move(file)
	git(t, repo, "update-index", "--refresh")
	put(t, file, "ONE\n")
	move(file)
	move(index)
	commit, err := worktree.Snapshot(t.Context(), h.Workspace, os.Environ(), repo)
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, repo, "cat-file", "blob", commit+":a.txt"); got != "ONE" {
		t.Errorf("%q", got)
	}
}

// TestNoCommitYet checks that errors name a repository without commits as such.
func TestNoCommitYet(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	git(t, repo, "init", "--quiet", "--initial-branch=trunk")
	_, err := worktree.Head(t.Context(), os.Environ(), repo)
	if err == nil || !strings.Contains(err.Error(), "branch trunk of "+repo+" has no commit yet") {
		t.Errorf("head: %v", err)
	}
	if _, err = worktree.ReadState(t.Context(), os.Environ(), repo); err == nil || !strings.Contains(err.Error(), "has no commit yet") {
		t.Errorf("state: %v", err)
	}
}
