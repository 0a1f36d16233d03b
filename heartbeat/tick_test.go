package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/internal/frontmatter"
	"ac/internal/lock"
	"ac/workspace"
	"ac/workspace/doc"
)

func (s *stage) commentAction(key, more string) string {
	return fmt.Sprintf(`{"kind":"add_comment","idempotency_key":%s,"risk":"low","needs_approval":false,"project_id":%q,"body":"b","target_agent_id":"a"%s}`, quoted(key), s.project, more)
}

func (s *stage) jobAction(key, more string) string {
	return fmt.Sprintf(`{"kind":"launch_job","idempotency_key":%q,"risk":"low","needs_approval":false,"project_id":%q,"goal":"g"%s}`, key, s.project, more)
}

func (s *stage) answers(text string) { s.jobs.answer = func(string) string { return text } }

// TestTick checks that a tick wakes workers with news, and that the events this causes are no
// news to the next tick.
func TestTick(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.happen(t, s.agents[1])
	first := s.tick(t)
	if len(first.Candidates) != 3 || len(first.WokenWorkers) != 1 || first.WokenWorkers[0].WorkerAgentID != s.agents[1] || first.ReportsOK != 1 {
		t.Fatalf("%+v", first)
	}
	state := s.state(t)
	known := state.WorkerState[s.agents[1]]
	if known.LastOKAt != at(0) || known.SuppressedUntil != at(time.Hour) || known.LastWakeAt != at(0) || known.LastContextHash != first.WokenWorkers[0].ContextHash {
		t.Errorf("%+v", known)
	}
	if state.Running || state.NextTickAt != at(20*time.Minute) || state.Stats.WorkersWokenTotal != 1 || state.Stats.ReportsOKTotal != 1 || len(state.RunEventCursors) != 1 {
		t.Errorf("%+v", state)
	}
	if second := s.tick(t); len(second.WokenWorkers) != 0 || !second.Candidates[1].Suppressed {
		t.Errorf("%+v", second)
	}
	if left, err := pending(s.w); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	s.happen(t, s.agents[1])
	dry, err := s.loop.Tick(t.Context(), Order{DryRun: true})
	if err != nil || len(dry.WokenWorkers) != 1 || len(dry.JobsSubmitted) != 0 {
		t.Errorf("%+v, %v", dry, err)
	}
	if third := s.tick(t); len(third.JobsSubmitted) != 1 || s.jobs.started != 2 {
		t.Errorf("a dry run consumed the news: %+v", third)
	}
}

// TestArbitration checks that a report's actions are decided in order, and that a bad one does
// not affect the others.
func TestArbitration(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.happen(t, s.agents[0])
	s.answers(actions(
		s.commentAction("c1", ""), s.commentAction("c1", ""), // executed once
		s.commentAction("c2", `,"visibility":"private_agent"`), // the policy refuses it
		strings.Replace(s.commentAction("c3", ""), s.project, "proj_other", 1),
		strings.Replace(s.commentAction("c4", ""), s.project, "../up", 1),
		s.jobAction("j1", `,"worker_agent_id":"agent_none"`),
		s.jobAction("j2", `,"worker_kind":"gemini"`), // no such worker
		s.jobAction("j3", `,"permission_level":"run-commands"`),
		s.jobAction("j4", ""),
		fmt.Sprintf(`{"kind":"create_approval_item","idempotency_key":"a1","risk":"low","needs_approval":false,"project_id":%q,"title":"T","proposed_action":%s}`,
			s.project, strings.Replace(s.commentAction("a1i", ""), s.project, "proj_other", 1)), // of another project
		fmt.Sprintf(`{"kind":"create_approval_item","idempotency_key":"a2","risk":"low","needs_approval":false,"project_id":%q,"title":"T"}`, s.project),
		`{"kind":"noop","idempotency_key":"n1","risk":"low","needs_approval":false,"reason":"r"}`,
		`{"kind":"noop","idempotency_key":"n2","risk":"high","needs_approval":false,"reason":"r"}`,
	))
	got := s.tick(t)
	if got.ActionsExecuted != 3 || got.ApprovalsQueued != 2 || got.DedupedActions != 1 || got.SkippedActions != 7 {
		t.Errorf("%+v", got)
	}
	if s.comments(t) != 1 || s.proposals(t) != 2 {
		t.Errorf("%d comments, %d proposals", s.comments(t), s.proposals(t))
	}
	state := s.state(t)
	for key, status := range map[string]string{"c1": "executed", "j3": "queued", "j4": "executed", "a2": "queued", "n1": "executed", "n2": "queued"} {
		if state.Idempotency[key].Status != status {
			t.Errorf("%s: %+v", key, state.Idempotency[key])
		}
		delete(state.Idempotency, key)
	}
	if len(state.Idempotency) != 0 || state.HourlyActionCounters["2036-11-20-12"] != 3 {
		t.Errorf("%+v", state)
	}
	for _, name := range s.files(t, "work/projects/*/artifacts/*.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if issues := frontmatter.Check(text, doc.HeartbeatProposalCodec, func(doc.HeartbeatProposal) []string { return doc.Headings(proposalType) }); len(issues) > 0 {
			t.Errorf("%v\n%s", issues, text)
		}
	}
}

// TestRightsOfWorkers checks that a report cannot decide its worker's rights, directory or
// risk.
func TestRightsOfWorkers(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	for i, more := range []string{`,"workspace_dir":"/"`, `,"permission_level":"root"`, `,"manager_role":"human"`, `,"model":"m"`, `,"status":"executed"`} {
		s.happen(t, s.agents[0])
		s.answers(actions(s.jobAction(fmt.Sprint(i), more)))
		if got := s.tick(t); got.ReportsProcessed != 0 || got.ActionsExecuted != 0 || len(got.JobsSubmitted) != 1 {
			t.Errorf("%s: %+v", more, got)
		}
	}
}

// TestCapsOverReports checks that the caps count over all reports of a tick.
func TestCapsOverReports(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.set(t, func(c *doc.HeartbeatConfig) {
		c.TopKWorkers, c.MaxAutoActionsPerTick, c.MaxAutoActionsPerHour = 3, 2, 3
	})
	wake := func() Summary {
		for _, agent := range s.agents {
			s.happen(t, agent)
		}
		return s.tick(t)
	}
	n := 0
	s.jobs.answer = func(string) string { n++; return actions(s.commentAction(fmt.Sprint("k", n), "")) }
	if got := wake(); got.ActionsExecuted != 2 || got.ApprovalsQueued != 1 {
		t.Errorf("%+v", got)
	}
	if got := wake(); got.ActionsExecuted != 1 || got.ApprovalsQueued != 2 {
		t.Errorf("%+v", got)
	}
	s.hand.advance(time.Hour)
	if got := wake(); got.ActionsExecuted != 2 {
		t.Errorf("%+v", got)
	}
}

// TestDamagedState checks that after a damaged state all actions are queued until somebody
// removes the quarantined file.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.happen(t, s.agents[0])
	if err := s.w.Replace(workspace.HeartbeatStateFile, []byte("surprise: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.answers(actions(s.commentAction("c1", "")))
	if got := s.tick(t); got.ActionsExecuted != 0 || got.ApprovalsQueued != 1 {
		t.Errorf("%+v", got)
	}
	if status := s.loop.Status(s.w, s.dir); !strings.Contains(status.Runtime.LastError, "was damaged") {
		t.Errorf("%+v", status.Runtime)
	}
	aside := s.files(t, ".local/heartbeat/state.yaml.broken-*")
	if len(aside) != 1 {
		t.Fatal(aside)
	}
	s.happen(t, s.agents[0])
	s.answers(actions(s.commentAction("c2", "")))
	if got := s.tick(t); got.ApprovalsQueued != 1 {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(aside[0]); err != nil {
		t.Fatal(err)
	}
	s.happen(t, s.agents[0])
	s.answers(actions(s.commentAction("c3", "")))
	if got := s.tick(t); got.ActionsExecuted != 1 {
		t.Errorf("%+v", got)
	}
}

// TestStalledWorker checks that a job that outlasts the wait is left to a later tick, and that
// its worker is not woken meanwhile.
func TestStalledWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t, 2)
	s.jobs.stalls = map[string]bool{s.agents[0]: true}
	s.happen(t, s.agents[0])
	s.happen(t, s.agents[1])
	if got := s.tick(t); len(got.JobsSubmitted) != 2 || got.ReportsProcessed != 1 {
		t.Fatalf("%+v", got)
	}
	left, err := pending(s.w)
	if err != nil || len(left) != 1 || left[0].WorkerAgentID != s.agents[0] {
		t.Fatalf("%+v, %v", left, err)
	}
	s.happen(t, s.agents[0])
	if got := s.tick(t); len(got.JobsSubmitted) != 0 {
		t.Errorf("%+v", got)
	}
	s.hand.advance(31 * time.Minute)
	if got := s.tick(t); got.Candidates[0].Counts.StuckJobs != 1 && got.Candidates[1].Counts.StuckJobs != 1 {
		t.Errorf("%+v", got)
	}
	// The worker finally answers.
	dir := workspace.ProjectDir(s.project) + "/jobs/" + left[0].JobID
	record, err := s.jobs.Poll(t.Context(), s.w, s.project, left[0].JobID)
	if err != nil {
		t.Fatal(err)
	}
	record.Status = doc.JobCompleted
	text, err := doc.JobCodec.Encode(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.w.Replace(dir+"/heartbeat_report.json", []byte(actions(s.commentAction("late", ""))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.w.Replace(dir+"/job.yaml", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.tick(t); got.ReportsActions != 1 || got.ActionsExecuted != 1 {
		t.Errorf("%+v", got)
	}
}

// TestApprovalDuringTick checks that a tick keeps what others write while it waits.
func TestApprovalDuringTick(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.jobs.stalls = map[string]bool{s.agents[0]: true}
	s.happen(t, s.agents[0])
	s.jobs.waits = func(ctx context.Context) error {
		return s.w.Update(ctx, func(u *workspace.Unit) error {
			_, err := (&stateCache{}).change(u, func(state *doc.HeartbeatState) {
				Remember(state, doc.ActionBody{IdempotencyKey: "approved", Kind: doc.ActionNoop}, s.hand.Now(), 1)
			})
			return err
		})
	}
	s.tick(t)
	if state := s.state(t); !WasExecuted(state, "approved") || state.Stats.TicksTotal != 1 {
		t.Errorf("%+v", state)
	}
}

// TestTickInProgress checks that a tick is skipped while another process ticks.
func TestTickInProgress(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	s.tick(t)
	held, err := lock.Try(s.w.FS, workspace.HeartbeatLock)
	if err != nil {
		t.Fatal(err)
	}
	before := s.state(t)
	got := s.tick(t)
	status := s.loop.Status(s.w, s.dir)
	if !got.SkippedDueToRunning || got.SkippedReason != skippedRunning || !status.State.Running || !status.Runtime.TickInProgress || status.Runtime.LastTickSummary.TickID == got.TickID {
		t.Errorf("%+v\n%+v", got, status)
	}
	if after := s.state(t); after.LastTickID != before.LastTickID {
		t.Errorf("%+v", after)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if got := s.tick(t); got.SkippedDueToRunning {
		t.Errorf("%+v", got)
	}
}

// TestMendedConfig checks that the status reports a config's error for as long as it lasts,
// together with the last tick's failure.
func TestMendedConfig(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0)
	if err := s.w.Replace(workspace.HeartbeatConfigFile, []byte("more: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.tick(t); got.Enabled {
		t.Errorf("%+v", got)
	}
	if last := s.loop.Status(s.w, s.dir).Runtime.LastError; !strings.Contains(last, "unknown: more") {
		t.Errorf("of a broken config: %q", last)
	}
	s.set(t, func(*doc.HeartbeatConfig) {})
	if last := s.loop.Status(s.w, s.dir).Runtime.LastError; last != "" {
		t.Errorf("of a mended config: %q", last)
	}
	s.loop.failure = errors.New("the last tick failed")
	if err := s.w.Replace(workspace.HeartbeatConfigFile, []byte("more: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if last := s.loop.Status(s.w, s.dir).Runtime.LastError; !strings.Contains(last, "unknown: more") || !strings.Contains(last, "last tick failed") {
		t.Errorf("of both: %q", last)
	}
}

// TestNoActiveProject checks that no job is submitted if no project is active.
func TestNoActiveProject(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	s.happen(t, s.agents[0])
	name := filepath.Join(s.dir, filepath.FromSlash(workspace.ProjectDir(s.project)), "project.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), "status: active", "status: archived", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.tick(t); len(got.WokenWorkers) != 1 || len(got.JobsSubmitted) != 0 || s.state(t).Stats.WorkersWokenTotal != 0 {
		t.Errorf("%+v", got)
	}
}

// TestJobsOfTheirProjects checks that a pending job of another project with the same id is a
// different job.
func TestJobsOfTheirProjects(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	config, err := Config(s.w)
	if err != nil {
		t.Fatal(err)
	}
	tick := &tick{Summary: newSummary(s.w, Order{}, config), w: s.w, ix: s.ix, jobs: s.jobs, seen: &s.loop.seen}
	var ours, other pendingJob
	err = s.w.Update(t.Context(), func(u *workspace.Unit) error {
		id, _, err := s.jobs.Enqueue(u, doc.JobSpec{
			SchemaVersion: doc.Version, Type: "job", JobKind: doc.JobHeartbeat, WorkerKind: "codex", WorkspaceDir: s.dir, ProjectID: s.project, Goal: "g",
			Constraints: []string{}, Deliverables: []string{}, PermissionLevel: "read-only", ContextRefs: []doc.ContextRef{}, WorkerAgentID: s.agents[0],
		})
		if err != nil {
			return err
		}
		ours = pendingJob{JobID: id, ProjectID: s.project, WorkerAgentID: s.agents[0], TickID: tick.TickID}
		other = ours
		other.ProjectID = "proj_gone"
		return changePending(u, func([]pendingJob) []pendingJob { return []pendingJob{other, ours} })
	})
	if err != nil {
		t.Fatal(err)
	}
	tick.JobsSubmitted = []SubmittedJob{{WorkerAgentID: s.agents[0], ProjectID: s.project, JobID: ours.JobID}}
	if err := tick.answers(t.Context()); err != nil || tick.ReportsOK != 1 {
		t.Errorf("%+v, %v", tick.Summary, err)
	}
	if left, err := pending(s.w); err != nil || !slices.Equal(left, []pendingJob{other}) {
		t.Errorf("%+v, %v", left, err)
	}
}
