package heartbeat

import (
	"os"
	"strings"
	"testing"

	"ac/workspace"
	"ac/workspace/doc"
)

// enterprise turns the stage into an enterprise: a director and a worker in one team, a worker
// in another, an executive manager, and hierarchy mode.
func (s *stage) enterprise(t *testing.T) (director, own, foreign, executive string) {
	t.Helper()
	must := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	one, two := must(s.w.NewTeam(t.Context(), "One")), must(s.w.NewTeam(t.Context(), "Two"))
	agent := func(name, role, team, title string) string {
		return must(s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: name, Role: role, TeamID: team, DisplayTitle: title, Provider: "codex"}))
	}
	own, foreign = agent("Own", "worker", one, ""), agent("Foreign", "worker", two, "")
	director, executive = agent("Dora", "director", one, ""), agent("Em", "manager", "", workspace.ExecutiveManagerTitle)
	yes := true
	s.set(t, func(c *doc.HeartbeatConfig) {
		c.HierarchyMode, c.ExecutiveManagerAgentID, c.AllowDirectorToSpawnWorkers, c.TopKWorkers = doc.HierarchyEnterprise, executive, &yes, 10
	})
	return director, own, foreign, executive
}

// TestHierarchy checks whom an enterprise wakes, in which project and order, and on whose
// behalf.
func TestHierarchy(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	director, own, _, executive := s.enterprise(t)
	busy := s.project
	if _, err := s.w.CreateProjectWithDefaults(t.Context(), "Newest", "", nil); err != nil { // with a secretary
		t.Fatal(err)
	}
	s.happen(t, own)
	s.happen(t, director)
	got := s.tick(t)
	if len(got.Candidates) != 3 || len(got.WokenWorkers) != 2 || got.WokenWorkers[0].WorkerAgentID != director || got.WokenWorkers[1].WorkerAgentID != own {
		t.Fatalf("%+v", got)
	}
	for _, c := range got.Candidates {
		if c.WorkerAgentID == executive {
			t.Error("the executive manager may be woken")
		}
	}
	for _, woken := range got.WokenWorkers {
		if woken.ProjectID != busy {
			t.Errorf("%s is woken in %s, not where it has news", woken.WorkerAgentID, woken.ProjectID)
		}
	}
	if got.JobsSubmitted[0].WorkerAgentID != director || got.JobsSubmitted[0].ProjectID != busy {
		t.Errorf("%+v", got.JobsSubmitted)
	}
	record, err := s.jobs.Poll(t.Context(), s.w, busy, got.JobsSubmitted[0].JobID)
	if err != nil {
		t.Fatal(err)
	}
	if spec := record.Job; spec.ManagerActorID != executive || len(spec.ContextRefs) < 2 || spec.ContextRefs[1].Value != "target_role=director" {
		t.Errorf("%+v", spec)
	}
}

// TestHardStops checks which actions an enterprise queues or skips instead of running them, and
// that no secret is written into a proposal.
func TestHardStops(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	director, own, foreign, _ := s.enterprise(t)
	s.happen(t, director)
	const secret = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"
	job := func(key, worker, role string) string {
		return s.jobAction(key, `,"worker_agent_id":"`+worker+`","target_role":"`+role+`"`)
	}
	s.answers(actions(
		job("own", own, "worker"),
		job("foreign", foreign, "worker"),
		s.commentAction("private", `,"visibility":"private_agent"`),
		s.jobAction("secret", `,"context_note":"`+secret+`","needs_approval":true`),
		s.jobAction("constraint", `,"constraints":["`+secret+`"],"needs_approval":true`),
	))
	got := s.tick(t)
	if got.ActionsExecuted != 1 || got.ApprovalsQueued != 2 || got.SkippedActions != 2 {
		t.Fatalf("%+v", got)
	}
	var all strings.Builder
	for _, name := range s.files(t, "work/projects/*/artifacts/*.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, why := range []string{"Hard stop: director_cross_team_worker_spawn_denied", "Hard stop: policy_denied:vis.private.owner"} {
		if !strings.Contains(all.String(), why) {
			t.Errorf("no proposal says %q:\n%s", why, all.String())
		}
	}
	if strings.Contains(all.String(), secret) {
		t.Error("the secret was written into a proposal")
	}
	if last := s.loop.Status(s.w, s.dir).Runtime.LastError; strings.Count(last, "secret_risk_detected") != 2 || strings.Contains(last, secret) {
		t.Errorf("last_error: %s", last)
	}
}

// TestBudgetStop checks that nothing is launched beyond a hard limit.
func TestBudgetStop(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	director, own, _, _ := s.enterprise(t)
	text, err := s.w.Read(workspace.ProjectFile(s.project))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.w.Replace(workspace.ProjectFile(s.project), append(text, "budget:\n  hard_tokens: 0\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	s.happen(t, director)
	s.answers(actions(s.jobAction("j", `,"worker_agent_id":"`+own+`"`)))
	if got := s.tick(t); got.ApprovalsQueued != 1 || got.ActionsExecuted != 0 {
		t.Errorf("%+v", got)
	}
}
