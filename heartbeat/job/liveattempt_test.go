package job_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// acpAgent creates an agent that speaks ACP and has its own command line.
func (s *stage) acpAgent() string {
	s.t.Helper()
	id := must(s.w.NewAgent(s.t.Context(), workspace.AgentSpec{Name: "Speaker", Role: "worker", Provider: "acp_own"}))
	file := filepath.Join(s.w.Dir(), workspace.AgentFile(id))
	words := "launcher: {command_argv_template: [" + filepath.Join(s.bin, "answerer") + ", --acp]}"
	if err := os.WriteFile(file, []byte(strings.Replace(s.file(workspace.AgentFile(id)), "launcher: {}", words, 1)), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// opened waits until a job's attempt asks something. It returns the run and the interaction's
// id.
func (s *stage) opened(id string) (run, asked string) {
	s.t.Helper()
	s.until("job "+id+" asks", func() bool {
		record := s.record(id)
		if last := record.Last(); last != nil {
			run = last.RunID
			asked = s.asked(run)
		}
		return asked != ""
	})
	return run, asked
}

// asked returns the id of the last interaction that a run's log requests.
func (s *stage) asked(run string) (id string) {
	for line := range strings.Lines(s.file(workspace.LogFile(s.project, run))) {
		var e struct {
			Type    string
			Payload struct {
				ID string `json:"interaction_id"`
			}
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Type == "interaction.requested" {
			id = e.Payload.ID
		}
	}
	return id
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestACPWorker runs an agent that speaks ACP. Other programs do not know its kind, so job.yaml
// does not name it.
func TestACPWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	agent := s.acpAgent()
	record, left := s.ordered(s.spec("job_a", "acp", `tell {"text":"done"}`), doc.JobOrder{Answer: doc.AnswerText})
	if left.Answer == nil || left.Answer.Answer.PlainText() != "done" || record.Attempts[0].WorkerAgentID != agent || record.Attempts[0].WorkerKind != "acp" {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	dir := workspace.ProjectDir(s.project) + "/jobs/job_a/"
	if text := s.file(dir + "job.yaml"); strings.Contains(text, "worker_kind: acp") {
		t.Errorf("job.yaml: %s", text)
	}
	run := must(runs.Load(s.w, s.project, record.Attempts[0].RunID))
	if run.Live == nil || run.Live.Driver != doc.LiveACP || run.Live.Interactive || run.Live.Policy.PermissionLevel != doc.LevelReadOnly {
		t.Errorf("it is no live session at the level of the job: %+v", run.Live)
	}
	// Without an order, such a job ends like any other.
	record, left = s.run(s.spec("job_b", "acp", "tell nothing"))
	if len(record.Attempts) != 3 || left.Result.Status != doc.ResultNeedsInput || record.Job.WorkerKind != "acp" {
		t.Errorf("%d attempts: %+v", len(record.Attempts), left.Result)
	}
}

// TestInteractiveJob checks that a person can answer what a job's agent asks.
func TestInteractiveJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.acpAgent()
	spec := s.spec("job_i", "acp", "ask")
	spec.PermissionLevel = "patch"
	s.submitOrder(spec, &doc.JobOrder{Answer: doc.AnswerText, Interactive: true})
	run, asked := s.opened("job_i")
	human := policy.Actor{ID: "human", Role: "human"}
	_, err := runs.Respond(t.Context(), s.w, runs.Act{ProjectID: s.project, RunID: run, Actor: human}, session.AnswerRequest{InteractionID: asked, Decision: "allow"})
	if err != nil {
		t.Fatal(err)
	}
	record, left := s.end("job_i")
	if left.Answer == nil || left.Answer.Answer.PlainText() != "it may: yes" {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	types := s.events(run)
	if !slices.Contains(types, "interaction.requested") || slices.Contains(types, "job.notice") {
		t.Errorf("%v", types)
	}
	// Without a person to ask, no mode is enforced, and the log says so.
	spec.JobID = "job_n"
	record, left = s.ordered(spec, doc.JobOrder{Answer: doc.AnswerText, Mode: doc.ModePlan})
	if left.Answer == nil || !slices.Contains(s.events(record.Attempts[0].RunID), "job.notice") {
		t.Errorf("%+v", left.Result)
	}
	spec.JobID = "job_m"
	_, err = job.Submit(t.Context(), s.w, s.starter, spec, &doc.JobOrder{Mode: doc.ModeFullAuto})
	if !fault.Is(err, fault.InvalidParams) {
		t.Errorf("a mode above the level: %v", err)
	}
}

// TestSteeredJob steers the agent of a job while it works.
func TestSteeredJob(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submitOrder(s.spec("job_s", "codex", "hold"), &doc.JobOrder{Answer: doc.AnswerText, Interactive: true, Attempts: 1})
	run := ""
	s.until("the agent of job_s is in its turn", func() bool {
		record := s.record("job_s")
		if last := record.Last(); last != nil {
			run = last.RunID
		}
		return run != "" && slices.Contains(s.events(run), "run.turn_started")
	})
	_, err := runs.Steer(t.Context(), s.w, runs.Act{ProjectID: s.project, RunID: run, Actor: policy.Actor{ID: "human", Role: "human"}},
		session.SteerRequest{Text: "be quick", Mode: session.ModeNextTurn}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, left := s.end("job_s")
	if left.Answer == nil || left.Answer.Answer.PlainText() != "steered: be quick" {
		t.Errorf("%+v", left.Result)
	}
}

// TestContinuable checks that an attempt cannot be continued while its job is active.
func TestContinuable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.submit(s.spec("job_t", "gemini", "third"))
	record := s.ready("job_t")
	first := record.Attempts[0].RunID
	if err := job.CheckContinuable(s.w, s.project, first); !fault.Is(err, fault.RunOwnedByJob) {
		t.Errorf("while the job goes on: %v", err)
	}
	if _, err := job.Cancel(t.Context(), s.w, s.starter, s.project, "job_t"); err != nil {
		t.Fatal(err)
	}
	s.end("job_t")
	if err := job.CheckContinuable(s.w, s.project, first); err != nil {
		t.Errorf("once it is over: %v", err)
	}
}
