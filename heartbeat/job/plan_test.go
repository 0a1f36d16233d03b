package job_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestPlannedContext checks a job with planned context. No seed that the plan refused is kept.
// The attempt has a plan with its hash, and an event before the worker begins. Memory
// candidates follow afterwards.
func TestPlannedContext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const secret = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"
	spec := s.spec("job_a", "codex", "good")
	spec.ContextMode, spec.MaxContextRefs, spec.ManagerActorID, spec.ManagerRole, spec.ManagerTeamID = doc.ContextAuto, 5, "human", "human", "team_x"
	spec.ContextRefs = []doc.ContextRef{{Kind: "note", Value: "mind the gap"}, {Kind: "note", Value: "use " + secret}, {Kind: "note", Value: "mind the gap"}}
	record, left := s.run(spec)
	if left.Result == nil || left.Result.Status != doc.ResultSucceeded {
		t.Fatalf("%+v", left.Result)
	}
	if refs := record.Job.ContextRefs; len(refs) < 3 || refs[0].Value != "mind the gap" || refs[1].Kind != "file" || strings.Contains(s.prompt(record.Attempts[0]), secret) {
		t.Errorf("%+v", refs)
	}
	a := record.Attempts[0]
	text := s.file(a.ContextPlanRelpath)
	sum := sha256.Sum256([]byte(text))
	if a.ContextPlanRelpath != workspace.ContextPackDir(s.project, a.ContextPackID)+"/bundle/context_plan.json" || a.ContextPlanHash != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", a)
	}
	for _, part := range []string{`"type": "context_plan"`, `"run_id": "` + a.RunID, `"source_id": "seed:note:mind the gap"`, `"reason": "base_context"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the plan lacks %s:\n%s", part, text)
		}
	}
	for _, name := range []string{a.ContextPlanRelpath, workspace.ProjectDir(s.project) + "/jobs/job_a/job.yaml", workspace.LogFile(s.project, a.RunID)} {
		if strings.Contains(s.file(name), secret) {
			t.Errorf("the secret of a refused seed stands in %s", name)
		}
	}
	types := s.events(a.RunID)
	started, planned, executing := slices.Index(types, "run.started"), slices.Index(types, "context.plan.generated"), slices.Index(types, "run.executing")
	if started < 0 || planned < started || executing < planned {
		t.Errorf("events: %v", types)
	}
	candidates := workspace.RunDir(s.project, a.RunID) + "/outputs/memory_candidates.json"
	s.until("the candidates", func() bool { return s.w.Exists(candidates) })
	if report := s.file(candidates); !strings.Contains(report, "Run insight (succeeded)") || strings.Contains(report, secret) {
		t.Errorf("candidates: %s", report)
	}
	spec.WorkerAgentID = "agent_none"
	spec.JobID = "job_b"
	if _, err := job.Submit(t.Context(), s.w, s.starter, spec, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a worker that is not there: %v", err)
	}
}

// TestPlannedResubmission checks that a resubmitted job counts as the same job even though its
// context is planned again.
func TestPlannedResubmission(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("job_s", "codex", "sleep")
	spec.ContextMode, spec.ManagerActorID, spec.ManagerRole = doc.ContextAuto, "human", "human"
	first := s.submit(spec)
	s.ready("job_s")
	if err := s.w.Replace("AGENTS.md", []byte("# For everybody\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := job.Submit(t.Context(), s.w, s.starter, spec, nil)
	if err != nil || again.CreatedAt != first.CreatedAt {
		t.Errorf("the same again: %+v (%v)", again, err)
	}
	s.cancel("job_s")
	s.canceled("job_s")
}
