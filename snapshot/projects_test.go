package snapshot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/index"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// office returns a workspace with one project.
func office(t testing.TB) (*workspace.Workspace, string) {
	t.Helper()
	ctx := context.Background()
	w := workspacetest.New(t, workspace.SystemEnv())
	project, err := w.NewProject(ctx, "P")
	if err != nil {
		t.Fatal(err)
	}
	return w, project
}

func put(t testing.TB, w *workspace.Workspace, name, text string) {
	t.Helper()
	file := filepath.Join(w.Dir(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// task writes a task with milestones in the given statuses.
func task(t *testing.T, w *workspace.Workspace, project, file, id, status, dependsOn string, milestones ...string) {
	t.Helper()
	text := "---\nschema_version: 1\ntype: task\nid: " + id + "\nproject_id: " + project + "\ntitle: T\ncreated_at: x\nstatus: " + status + "\nvisibility: team\n"
	if dependsOn != "" {
		text += "schedule: {depends_on_task_ids: [" + dependsOn + "]}\n"
	}
	text += "milestones:"
	if len(milestones) == 0 {
		text += " []"
	}
	for i, m := range milestones {
		text += fmt.Sprintf("\n  - {id: ms_%d, title: M, kind: coding, status: %s, acceptance_criteria: [a]}", i, m)
	}
	put(t, w, workspace.TasksDir(project)+"/"+file, text+"\n---\n\n## Contract\n\n## Milestones\n")
}

func artifact(t *testing.T, w *workspace.Workspace, project, file, id, kind string) {
	t.Helper()
	put(t, w, workspace.ArtifactsDir(project)+"/"+file, "---\nschema_version: 1\ntype: "+kind+"\nid: "+id+
		"\ncreated_at: x\ntitle: T\nvisibility: org\nproduced_by: a\nrun_id: r\ncontext_pack_id: c\n---\n")
}

// TestProjects checks the counts and flags of a row, and what does not count: stray copies,
// broken documents, decisions of other kinds.
func TestProjects(t *testing.T) {
	t.Parallel()
	w, project := office(t)
	task(t, w, project, "t1.md", "t1", "in_progress", "t2, t1, nobody", "done", "ready", "done") // 2/3
	task(t, w, project, "t2.md", "t2", "blocked", "t1", "done", "draft")                         // 1/2
	task(t, w, project, "t3.md", "t3", "done", "")                                               // 1
	task(t, w, project, "t4.md", "t4", "draft", "", "ready", "ready", "ready", "ready")          // 0
	task(t, w, project, "copy.md", "t3", "done", "")
	put(t, w, workspace.TasksDir(project)+"/broken.md", "no front matter")
	artifact(t, w, project, "a1.md", "a1", "memory_delta")
	artifact(t, w, project, "a2.md", "a2", "milestone_report")
	artifact(t, w, project, "a3.md", "a3", "proposal")
	artifact(t, w, project, "copy.md", "a1", "memory_delta")
	review := func(id, kind, artifact string) {
		put(t, w, workspace.ReviewsDir+"/"+id+".yaml", "schema_version: 1\ntype: review\nid: "+id+"\ncreated_at: 2026-01-02T03:04:05Z\n"+
			"actor_id: h\nactor_role: human\ndecision: denied\nsubject: {kind: "+kind+", artifact_id: "+artifact+", project_id: "+project+"}\n"+
			"policy: {allowed: true, rule_id: r, reason: r}\nx_other_program: 1\n")
	}
	review("rev_1", "milestone", "a2")
	review("rev_2", "milestone", "a1") // another kind: a1 still waits
	ix := index.For(w)
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	var rows []ProjectRow
	err := At(context.Background(), w, ix, Request{Index: index.UpToDate}, func(m *View) (err error) {
		rows, err = m.Projects()
		return err
	})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	rows[0].CreatedAt = ""
	want := ProjectRow{
		ProjectID: project, Name: "P", Status: "active", RepoLinks: []doc.RepoLink{}, PendingReviews: 1, TaskCount: 4,
		ProgressPct: 54.2, BlockedTasks: 1, RiskFlags: []string{"blocked_tasks", "pending_reviews", "dependency_cycle"},
	}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Error(diff)
	}
}
