package doctor

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"ac/workspace"
)

// TestWorktrees checks that orphaned worktrees are reported even if a run's own worktree is
// missing, and that folders within a run's worktree do not count as orphans.
func TestWorktrees(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	record := f.read(workspace.RunFile(f.project, f.run))
	for _, run := range []string{"run_flat", "run_deep"} {
		rel := map[string]string{"run_flat": ".local/worktrees/flat", "run_deep": ".local/worktrees/./p/t/run_deep"}[run]
		f.put(workspace.RunFile(f.project, run), strings.ReplaceAll(record, f.run, run)+"spec:\n  kind: command\n  argv: [x]\n  worktree_relpath: "+rel+"\n")
		f.put(workspace.LogFile(f.project, run), "")
	}
	f.put(".local/worktrees/flat/a/b/file", "")
	f.put(".local/worktrees/p/t/run_deep/file", "")
	look := func() (references, orphans Check) {
		report := RunChecks(context.Background(), f.patient())
		return checkOf(report, "worktrees.references"), checkOf(report, "worktrees.orphans")
	}
	if references, orphans := look(); references.Status != Pass || len(references.Details) != 2 || orphans.ID != "" {
		t.Errorf("all there: %+v, %+v", references, orphans)
	}
	f.put(".local/worktrees/p/t/lost/file", "")
	want := []string{".local/worktrees/p/t/lost"}
	if references, orphans := look(); references.Status != Pass || orphans.Status != Warn || !slices.Equal(orphans.Details, want) {
		t.Errorf("one of no run: %+v, %+v", references, orphans)
	}
	if err := os.RemoveAll(f.path(".local/worktrees/flat")); err != nil {
		t.Fatal(err)
	}
	if references, orphans := look(); references.Status != Warn || len(references.Details) != 1 || !slices.Equal(orphans.Details, want) {
		t.Errorf("one gone as well: %+v, %+v", references, orphans)
	}
}
