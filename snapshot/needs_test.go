package snapshot

import (
	"context"
	"slices"
	"testing"
	"time"

	"ac/governance/needs"
	"ac/index"
	"ac/internal/clock"
	"ac/workspace"
)

// TestAttemptsCountOnce checks that only the last attempt of a finished job counts as a failed
// run. Attempts of running or canceled jobs do not count.
func TestAttemptsCountOnce(t *testing.T) {
	t.Parallel()
	w, project := office(t)
	ix := index.For(w)
	t.Cleanup(func() { _ = ix.Close() })
	ended := clock.Stamp(w.Env.Clock.Now().Add(-time.Hour))
	for _, run := range []string{"run_alone", "run_1", "run_2", "run_going", "run_canceled"} {
		put(t, w, workspace.RunFile(project, run), "schema_version: 1\ntype: run\nid: "+run+"\nproject_id: "+project+"\nagent_id: a\nprovider: codex\ncreated_at: "+ended+
			"\nended_at: "+ended+"\nstatus: failed\ncontext_pack_id: c\nevents_relpath: x\n")
		put(t, w, workspace.LogFile(project, run), "")
	}
	put(t, w, workspace.RunFile(project, "run_long_ago"), "schema_version: 1\ntype: run\nid: run_long_ago\nproject_id: "+project+"\nagent_id: a\nprovider: codex\ncreated_at: 2020-01-01T00:00:00Z"+
		"\nended_at: 2020-01-01T00:00:00Z\nstatus: failed\ncontext_pack_id: c\nevents_relpath: x\n")
	job := func(id, status string, runs ...string) {
		text := "schema_version: 1\ntype: job_record\njob: {job_id: " + id + ", worker_kind: codex, worker_agent_id: a, workspace_dir: /x, project_id: " + project +
			", goal: g, constraints: [], deliverables: [], permission_level: read-only, context_refs: []}\ncreated_at: " + ended + "\nupdated_at: " + ended +
			"\nstatus: " + status + "\ncancellation_requested: false\ncurrent_attempt: 1\nattempts:\n"
		for _, run := range runs {
			text += "  - {attempt: 1, run_id: " + run + ", context_pack_id: c, session_ref: s, worker_kind: codex, worker_agent_id: a, provider: codex, started_at: " + ended + ", status: failed}\n"
		}
		put(t, w, workspace.ProjectDir(project)+"/jobs/"+id+"/job.yaml", text)
	}
	job("job_over", "completed", "run_1", "run_2")
	job("job_going", "running", "run_going")
	job("job_canceled", "canceled", "run_canceled")
	var found Needs
	err := At(context.Background(), w, ix, Request{Index: index.UpToDate}, func(m *View) (err error) {
		found, err = m.Needs(project)
		return err
	})
	var ids []string
	for _, n := range found.Open {
		ids = append(ids, n.NeedID)
	}
	if want := []string{needs.RunFailed + ":run_2:1", needs.RunFailed + ":run_alone:1"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v: %v, want %v", err, ids, want)
	}
}
