package company_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ac/company"
	"ac/company/decisions"
	"ac/workspace"
)

// TestOldPendingDeltas checks that a pending delta is listed even if hundreds of decided ones are
// newer. The count of filtered deltas includes those past the limit.
func TestOldPendingDeltas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	write := func(name, format string, args ...any) {
		t.Helper()
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, fmt.Appendf(nil, format, args...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const day = "2026-01-01T00:00:00.000Z"
	write(workspace.ProjectFile("proj_x"), "schema_version: 1\ntype: project\nid: proj_x\nname: X\nstatus: active\ncreated_at: %s\n", day)
	delta := func(id, created, visibility string) {
		t.Helper()
		write(workspace.ArtifactsDir("proj_x")+"/"+id+".md", `---
schema_version: 2
type: memory_delta
id: %s
created_at: %s
title: T
visibility: %s
produced_by: human
run_id: run_manual
context_pack_id: ctx_manual
project_id: proj_x
target_file: work/projects/proj_x/memory.md
patch_file: work/projects/proj_x/artifacts/%s.patch
scope_kind: project_memory
scope_ref: proj_x
sensitivity: internal
rationale: r
evidence:
  - e
---
`, id, created, visibility, id)
	}
	delta("art_oldest", "2026-01-01T00:00:00.000Z", "org")
	delta("art_hidden", "2026-01-02T00:00:00.000Z", "managers")
	const decided = 250
	for i := range decided {
		id := fmt.Sprintf("art_%03d", i)
		delta(id, fmt.Sprintf("2026-02-01T00:00:00.%03dZ", i), "org")
		write(workspace.ReviewsDir+"/rev_"+id+".yaml", `schema_version: 1
type: review
id: rev_%s
created_at: %s
actor_id: human
actor_role: human
decision: denied
subject:
  kind: memory_delta
  artifact_id: %s
  project_id: proj_x
  target_file: work/projects/proj_x/memory.md
  patch_file: work/projects/proj_x/artifacts/%s.patch
policy:
  allowed: true
  rule_id: vis.org
  reason: org_visible
notes: ""
`, id, day, id, id)
	}
	all := company.New(company.Options{Env: workspace.SystemEnv()})
	defer func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	}()
	list := func(status string, limit int) decisions.DeltaList {
		t.Helper()
		p := decisions.ListDeltasParams{Status: status, Limit: limit}
		p.WorkspaceDir, p.ActorID, p.ActorRole = dir, "w", "worker"
		result, err := company.Do(t.Context(), all, decisions.Operations.ListDeltas, p)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := list("pending", 1); got.Count != 1 || got.Items[0].ArtifactID != "art_oldest" || got.Filtered != 1 {
		t.Errorf("pending: %+v", got)
	}
	if got := list("all", 1); got.Count != 1 || got.Items[0].ArtifactID != "art_249" || got.Filtered != 1 {
		t.Errorf("the newest: %+v", got)
	}
	if got := list("all", 5000); got.Count != decided+1 || got.Items[decided].ArtifactID != "art_oldest" {
		t.Errorf("%d of all", got.Count)
	}
	if got := list("approved", 10); got.Count != 0 || got.Filtered != 0 {
		t.Errorf("approved: %+v", got)
	}
}
