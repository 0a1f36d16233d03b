package workforce

// Runs that are conversations, and their attachments.

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ac/company"
	"ac/company/companytest"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// TestSpokenRuns checks which runs are conversations: new runs of an interactive provider, and runs
// that had a conversation. Commands, workflows and runs that ended without one are not.
func TestSpokenRuns(t *testing.T) {
	t.Parallel()
	all, w := companytest.New(t), workspacetest.New(t, workspace.SystemEnv())
	project, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	create := func(provider string, change func(*doc.Run)) string {
		t.Helper()
		made, err := runs.Create(t.Context(), w, project, "agent_a", provider)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Update(t.Context(), func(u *workspace.Unit) error {
			file := workspace.RunFile(project, made.RunID)
			run, err := workspace.LoadIn(u, doc.RunCodec, file)
			if err != nil {
				return err
			}
			change(&run)
			return workspace.Put(u, doc.RunCodec, file, run, 0o644)
		}); err != nil {
			t.Fatal(err)
		}
		return made.RunID
	}
	ended := func(run *doc.Run) { run.Status, run.EndedAt = "ended", run.CreatedAt }
	asIs := func(*doc.Run) {}
	live := func(driver string) *doc.Live {
		return &doc.Live{Driver: driver, Policy: doc.RunPolicy{Mode: "default", PermissionLevel: "patch", Rules: []doc.PolicyRule{}}}
	}
	fresh := create("codex", asIs)
	prepared := create("codex", func(run *doc.Run) { ended(run); run.Live = live("") })
	talked := create("cmd", func(run *doc.Run) { ended(run); run.Live = live(doc.LiveCommand) })
	want := []string{fresh, prepared, talked}
	silent := []string{create("codex", ended), create("cmd", asIs), create(workflow.Provider, func(run *doc.Run) { run.Live = live(doc.LiveCommand) })}

	ask := func(p ConversationRunsParams) ([]RunWithLog, error) {
		p.Dir, p.ProjectID = company.Dir{WorkspaceDir: w.Dir()}, project
		return company.Do(t.Context(), all, Operations.ConversationRuns, p)
	}
	listed := func(everything bool) (ids []string) {
		t.Helper()
		rows, err := ask(ConversationRunsParams{All: everything})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if row.IsConversation != slices.Contains(want, row.ID) || row.Alive || row.Size == 0 || row.Changed.IsZero() {
				t.Errorf("%+v", row)
			}
			ids = append(ids, row.ID)
		}
		slices.Sort(ids)
		return ids
	}
	if got := listed(false); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%v are conversations, want %v", got, want)
	}
	if got := listed(true); len(got) != len(want)+len(silent) {
		t.Errorf("%d runs", len(got))
	}
	if rows, err := ask(ConversationRunsParams{RunID: silent[0]}); err != nil || len(rows) != 1 || rows[0].IsConversation {
		t.Errorf("one that is named: %+v %v", rows, err)
	}
	for id, reason := range map[string]fault.Reason{"run_none": fault.NotFound, "../" + fresh: fault.InvalidParams} {
		if _, err := ask(ConversationRunsParams{RunID: id}); !fault.Is(err, reason) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestAttachments checks that only files directly in the run's own attachments folder are readable.
func TestAttachments(t *testing.T) {
	t.Parallel()
	all, w := companytest.New(t), workspacetest.New(t, workspace.SystemEnv())
	project, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.Dir(), workspace.RunDir(project, "run_a"), "outputs", "attachments")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "sub/b.txt", "../secret.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const below = "runs/run_a/outputs/attachments/"
	named := func(run, place string) AttachmentParams {
		return AttachmentParams{Dir: company.Dir{WorkspaceDir: w.Dir()}, ProjectID: project, RunID: run, Relpath: place}
	}
	if file, err := company.Do(t.Context(), all, Operations.AttachmentPath, named("run_a", below+"a.txt")); err != nil || file != filepath.Join(dir, "a.txt") {
		t.Errorf("%s %v", file, err)
	}
	if text, err := company.Do(t.Context(), all, Operations.ReadAttachment, named("run_a", below+"a.txt")); err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
	for _, c := range []struct {
		run, place string
		reason     fault.Reason
	}{
		{"run_a", below + "gone.txt", fault.NotFound}, {"run_a", below, fault.NotFound}, {"run_a", below + ".", fault.NotFound}, {"run_a", below + "..", fault.NotFound},
		{"run_a", below + "../secret.txt", fault.NotFound}, {"run_a", below + "sub/b.txt", fault.NotFound}, {"run_a", "runs/run_a/outputs/attachments", fault.NotFound}, {"run_a", "", fault.NotFound},
		{"run_b", below + "a.txt", fault.NotFound}, {"../run_a", below + "a.txt", fault.InvalidParams}, {"", below + "a.txt", fault.InvalidParams},
	} {
		if text, err := company.Do(t.Context(), all, Operations.ReadAttachment, named(c.run, c.place)); !fault.Is(err, c.reason) {
			t.Errorf("%s %q: %q %v", c.run, c.place, text, err)
		}
	}
}
