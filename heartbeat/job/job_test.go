package job_test

// Jobs from submission to end, with real processes.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/runs/lane"
	"ac/workspace"
	"ac/workspace/doc"
)

func TestGoodAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, kind := range []string{"codex", "claude", "gemini"} {
		record, left := s.run(s.spec("job_"+kind, kind, "good"))
		if left.Result.Status != doc.ResultSucceeded || left.Result.Summary != "all good" || len(record.Attempts) != 1 {
			t.Fatalf("%s: %+v, errors %+v", kind, record, left.Result.Errors)
		}
		a := record.Attempts[0]
		if a.Status != doc.AttemptEnded || a.WorkerAgentID != s.agents[kind] || a.ProviderVersion != kind+" 1.2.3" || len(a.ProviderHelpHash) != 64 {
			t.Errorf("%s: %+v", kind, a)
		}
		if want := map[string]string{"codex": "", "claude": "stream-json", "gemini": "json"}[kind]; a.OutputFormat != want {
			t.Errorf("%s: format %q", kind, a.OutputFormat)
		}
		types := slices.DeleteFunc(s.events(a.RunID), func(kind string) bool {
			return strings.HasPrefix(kind, "usage.") || kind == "provider.raw"
		})
		want := []string{"run.started", "worker.subscription_check.passed", "worker.cli.provenance", "policy.decision", "run.executing", "run.ended"}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("%s: events: %s", kind, diff)
		}
		if *left.Digest.Signals.RetriesUsed != 0 || left.Digest.Signals.Normalization != "schema_valid" {
			t.Errorf("%s: signals %+v", kind, left.Digest.Signals)
		}
	}
	result := s.file(filepath.Join(workspace.ProjectDir(s.project), "jobs/job_codex/result.json"))
	if !strings.HasPrefix(result, "{\n  \"schema_version\": 1,\n  \"type\": \"result\"") || !strings.Contains(result, `"exit_code": null`) || !strings.HasSuffix(result, "}\n") {
		t.Errorf("result.json: %s", result)
	}
}

func TestPromptAndCommandLine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("job_1", "codex", "good")
	spec.PermissionLevel, spec.Model = "patch", "gpt-x"
	record, _ := s.run(spec)
	a := record.Attempts[0]
	prompt := s.prompt(a)
	for _, line := range []string{
		"job_id: job_1", "attempt_run_id: " + a.RunID, "goal: good", "permission_level: patch", "constraints:\n- c1",
		"deliverables:\n- d1", "context_refs:\n- [note] n1 (why)", `"type":"result"`,
	} {
		if !strings.Contains(prompt, line+"\n") && line[0] != '"' || !strings.Contains(prompt, line) {
			t.Errorf("the prompt lacks %q:\n%s", line, prompt)
		}
	}
	schema := "result_spec_schema_" + a.RunID + ".json"
	file := filepath.Join(workspace.RunDir(s.project, a.RunID), "outputs", schema)
	if text := s.file(file); !json.Valid([]byte(text)) || !strings.Contains(text, `"enum":["job_1"]`) || !strings.Contains(text, a.RunID) {
		t.Errorf("the schema: %s", text)
	}
	run := s.file(workspace.RunFile(s.project, a.RunID))
	for _, word := range []string{"exec", "--model", "gpt-x", "--sandbox", "workspace-write", "--color", "--output-schema", "--json"} {
		if !strings.Contains(run, "- "+word+"\n") {
			t.Errorf("the command lacks %s:\n%s", word, run)
		}
	}
	if strings.Contains(run, "approv") {
		t.Error("an approval option was passed")
	}
}

func TestRepairAndReformat(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record, left := s.run(s.spec("job_r", "codex", "repair"))
	if len(record.Attempts) != 2 || left.Result.Status != doc.ResultSucceeded || *left.Digest.Signals.RetriesUsed != 1 {
		t.Fatalf("%+v %+v", record.Attempts, left.Digest)
	}
	if left.Result.AttemptRunID != record.Attempts[1].RunID {
		t.Error("the result is of another run than that of the attempt")
	}
	prompt := s.prompt(record.Attempts[1])
	for _, part := range []string{"Validation issues to fix:\n- result_unparseable: ", "Previous output:\nI would rather", "goal: repair", "attempt_run_id: " + record.Attempts[0].RunID} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the repair lacks %q:\n%s", part, prompt)
		}
	}
	record, left = s.run(s.spec("job_f", "claude", "reformat"))
	last := record.Attempts[len(record.Attempts)-1]
	if len(record.Attempts) != 3 || left.Result.Status != doc.ResultSucceeded || last.WorkerKind != "codex" || last.WorkerAgentID != s.agents["codex"] {
		t.Errorf("%+v", record.Attempts)
	}
	record, left = s.run(s.spec("job_n", "codex", "garbage"))
	if len(record.Attempts) != 3 || left.Result.Status != doc.ResultNeedsInput || left.Result.Errors[0].Code != "result_unparseable" ||
		len(left.Result.NextActions) != 1 || left.Digest.Signals.Normalization != "fallback_needs_input" || left.Digest.Signals.LastValidationError == "" {
		t.Errorf("%+v %+v", left.Result, left.Digest.Signals)
	}
}

func TestFailedAttemptIsTriedAgainWithItsGoal(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record, left := s.run(s.spec("job_o", "codex", "once"))
	if len(record.Attempts) != 2 || left.Result.Status != doc.ResultSucceeded || record.Attempts[0].Status != doc.AttemptFailed {
		t.Fatalf("%+v", record.Attempts)
	}
	if why := record.Attempts[0].Error; !strings.Contains(why, "exit code 3") || !strings.Contains(why, "boom") {
		t.Errorf("error %q", why)
	}
	prompt := s.prompt(record.Attempts[1])
	if !strings.Contains(prompt, "goal: once") || !strings.Contains(prompt, "did not end properly: exit code 3") || strings.Contains(prompt, "Previous output") {
		t.Errorf("the second prompt: %s", prompt)
	}
	record, left = s.run(s.spec("job_x", "codex", "fail"))
	if len(record.Attempts) != 3 || left.Result.Errors[0].Code != job.CodeAttemptFailed || record.Attempts[2].WorkerKind != "codex" {
		t.Errorf("%+v", left.Result)
	}
}

func TestDeafWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t, "DEAF=1")
	spec := s.spec("job_d", "codex", strings.Repeat("x", 128<<10))
	if _, left := s.run(spec); left.Result.Status != doc.ResultNeedsInput {
		t.Errorf("%+v", left.Result)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := newStage(t, "AC_JOB_ATTEMPT_TIMEOUT_MS=150")
	record, left := s.run(s.spec("job_t", "codex", "sleep"))
	if len(record.Attempts) != 3 || left.Result.Errors[0].Code != job.CodeAttemptFailed {
		t.Fatalf("%+v", left.Result)
	}
	for _, a := range record.Attempts {
		if a.Status != doc.AttemptFailed || !strings.Contains(a.Error, "took longer than 150ms") {
			t.Errorf("%+v", a)
		}
	}
}

func TestBlockedAndRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, "OPENAI_API_KEY=sk-not-a-subscription")
	record, left := s.run(s.spec("job_k", "codex", "good"))
	if left.Result.Status != doc.ResultBlocked || left.Result.Errors[0].Code != job.CodeUnverified || len(record.Attempts) != 1 ||
		left.Digest.Signals.BlockedReason != job.CodeUnverified || len(left.Result.NextActions) != 1 {
		t.Errorf("%+v %+v", left.Result, left.Digest.Signals)
	}
	if types := s.events(record.Attempts[0].RunID); !slices.Equal(types, []string{"run.started", "worker.subscription_check.failed", "run.failed"}) {
		t.Errorf("events: %v", types)
	}
	a := record.Attempts[0]
	if n := strings.Count(s.file(workspace.LogFile(s.project, a.RunID)), `"session_ref":"`+a.SessionRef+`"`); n != 2 {
		t.Errorf("%d events are recorded under the attempt's session_ref", n)
	}
	spec := s.spec("job_w", "gemini", "good")
	spec.WorkerAgentID = s.agents["codex"] // of another kind
	if record, left := s.run(spec); left.Result.Errors[0].Code != job.CodeWorkerUnavailable || left.Result.AttemptRunID != "none" || len(record.Attempts) != 0 {
		t.Errorf("%+v", left.Result)
	}
	odd, err := s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Odd", Role: "worker", Provider: "codex_of_mine"})
	if err != nil {
		t.Fatal(err)
	}
	spec = s.spec("job_u", "codex", "good")
	spec.WorkerAgentID = odd
	if record, left := s.run(spec); left.Result.Status != doc.ResultFailed || left.Result.Errors[0].Code != job.CodeRunnerError ||
		!left.Digest.Signals.UnhandledError || record.Attempts[0].Status != doc.AttemptFailed {
		t.Errorf("%+v", left.Result)
	}
	if err := os.Remove(filepath.Join(s.w.Dir(), workspace.MachineFile)); err != nil {
		t.Fatal(err)
	}
	if _, left := s.run(s.spec("job_m", "claude", "good")); left.Result.Errors[0].Code != job.CodeRunnerError {
		t.Errorf("%+v", left.Result)
	}
}

func TestWorkerGrantsItselfNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	answer := `{"status":"succeeded","summary":"mine","job_id":"job_g","attempt_run_id":"run_of_somebody","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`
	spec := s.spec("job_g", "codex", "say "+answer)
	record, left := s.run(spec)
	if left.Result.AttemptRunID != record.Attempts[0].RunID || left.Result.Status != doc.ResultSucceeded {
		t.Errorf("%+v", left.Result)
	}
	spec = s.spec("job_h", "codex", `say {"status":"succeeded","summary":"x","job_id":"job_g","permission_level":"run-commands","workspace_dir":"/","files_changed":[],"commands_run":[],"artifacts":[],"next_actions":[],"errors":[]}`)
	record, left = s.run(spec)
	if left.Result.Status != doc.ResultNeedsInput || record.Job.PermissionLevel != "read-only" {
		t.Errorf("%+v", left.Result)
	}
	for _, a := range record.Attempts {
		if run := s.file(workspace.RunFile(s.project, a.RunID)); !strings.Contains(run, "- read-only\n") || strings.Contains(run, "workspace-write") {
			t.Errorf("attempt %d got other rights:\n%s", a.Attempt, run)
		}
	}
	// A manager recorded as a worker stays one: it may launch no member of a team.
	team, err := s.w.NewTeam(t.Context(), "T")
	if err != nil {
		t.Fatal(err)
	}
	worker, err := s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Zoe", Role: "worker", Provider: "codex", TeamID: team})
	if err != nil {
		t.Fatal(err)
	}
	spec = s.spec("job_p", "codex", "good")
	spec.WorkerAgentID, spec.ManagerActorID, spec.ManagerRole = worker, s.agents["claude"], "ceo"
	record, left = s.run(spec)
	if left.Result.Status != doc.ResultFailed || !strings.Contains(left.Result.Errors[0].Message, "olicy denied") || s.acts("job_p") != 0 || record.Attempts[0].Status != doc.AttemptFailed {
		t.Errorf("%+v", left.Result)
	}
}

func TestHeartbeatJob(t *testing.T) {
	t.Parallel()
	for status, answer := range map[string]string{
		"ok":      `{"status":"ok","token":"HEARTBEAT_OK","summary":"fine","actions":null}`,
		"actions": `{"status":"actions","summary":"work","actions":[{"kind":"launch_job","idempotency_key":"k1","risk":"low","needs_approval":false,"summary":"why","project_id":"p","goal":"g","task_id":null}]}`,
	} {
		s := newStage(t, "HEARTBEAT="+answer)
		spec := s.spec("job_hb", "codex", "good")
		spec.JobKind = doc.JobHeartbeat
		_, left := s.run(spec)
		if left.Report == nil || left.Report.Status != status || left.Digest.Signals.HeartbeatStatus != status || left.Result.Status != doc.ResultSucceeded {
			t.Fatalf("%s: %+v", status, left.Result)
		}
		if status == "actions" {
			a := left.Report.Actions[0].LaunchJob
			if a.WorkerKind != "codex" || a.PermissionLevel != "read-only" || left.Result.NextActions[0] != (doc.NextAction{Action: "launch_job:k1", Rationale: "why"}) {
				t.Errorf("%+v %+v", a, left.Result.NextActions)
			}
		}
	}
}

// TestPressureAtTheEnd checks that a rate limit in a job's last attempt still makes the
// provider cool down for others.
func TestPressureAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record, left := s.run(s.spec("job_l", "codex", "limited"))
	if len(record.Attempts) != 3 || left.Result.Status != doc.ResultNeedsInput {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	if until, ok, err := lane.New(s.w).Cooldown("codex"); err != nil || !ok || time.Until(until) < 3*time.Minute {
		t.Errorf("%s, %t, %v", until, ok, err)
	}
}

// TestTemplateOfAnAgent checks that an agent's invalid command line fails the job before any of
// it is executed.
func TestTemplateOfAnAgent(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name := "org/agents/" + s.agents["gemini"] + "/agent.yaml"
	before := s.file(name)
	for template, want := range map[string]string{
		`[sh, -c, "{PROMPT}"]`:           "must not start a shell (sh)",
		`[/usr/bin/env, sh, "{PROMPT}"]`: "must not start a shell (/usr/bin/env)",
		`[gemini, "a\nb", "{PROMPT}"]`:   "must not contain line breaks",
		`[gemini, /bin/ZSH, "{PROMPT}"]`: "must not name a shell (/bin/ZSH)",
		`[" ", "{PROMPT}"]`:              "must not be empty",
	} {
		text := strings.Replace(before, "launcher: {}", "launcher: {command_argv_template: "+template+"}", 1)
		if err := s.w.Replace(name, []byte(text), 0o644); err != nil || text == before {
			t.Fatal(err)
		}
		record, left := s.run(s.spec("job_t", "gemini", "good"))
		if left.Result.Status != doc.ResultFailed || left.Result.Errors[0].Code != job.CodeRunnerError || !strings.Contains(left.Result.Errors[0].Message, want) {
			t.Errorf("%s: %+v", template, left.Result)
		}
		if record.Attempts[0].Status != doc.AttemptFailed || s.acts("job_t") != 0 {
			t.Errorf("%s: %+v", template, record.Attempts)
		}
	}
}

// TestHeartbeatThirdAttempt checks that a heartbeat's third attempt goes to the reformatting
// worker, as in any job.
func TestHeartbeatThirdAttempt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("job_h3", "claude", "garbage")
	spec.JobKind = doc.JobHeartbeat
	record, left := s.run(spec)
	if len(record.Attempts) != 3 || left.Result.Errors[0].Code != "heartbeat_report_unparseable" {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	for i, kind := range []string{"claude", "claude", "codex"} {
		if a := record.Attempts[i]; a.WorkerKind != kind || a.WorkerAgentID != s.agents[kind] {
			t.Errorf("attempt %d: %+v", i+1, a)
		}
	}
	if prompt := s.prompt(record.Attempts[2]); !strings.Contains(prompt, "Your answer to a heartbeat") || strings.Contains(prompt, "reformatter") {
		t.Errorf("%s", prompt)
	}
}

func TestResubmission(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.submit(s.spec("job_s", "codex", "sleep"))
	s.ready("job_s")
	spec := s.spec("job_s", "codex", "sleep")
	spec.WorkspaceDir += "/."
	again, err := job.Submit(t.Context(), s.w, s.starter, spec, nil)
	if err != nil || again.CreatedAt != first.CreatedAt || again.Status != doc.JobRunning {
		t.Errorf("the same again: %+v (%v)", again, err)
	}
	if _, err := job.Submit(t.Context(), s.w, s.starter, s.spec("job_s", "codex", "another"), nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("another spec: %v", err)
	}
	if _, err := job.Cancel(t.Context(), s.w, s.starter, s.project, "job_s"); err != nil {
		t.Fatal(err)
	}
	s.end("job_s")
	for life := range 2 {
		if _, left := s.run(s.spec("job_s", "codex", "good")); left.Result.Status != doc.ResultSucceeded {
			t.Fatalf("life %d: %+v", life+2, left.Result)
		}
	}
	dir := filepath.Join(workspace.ProjectDir(s.project), "jobs/job_s/history")
	if text := s.file(filepath.Join(dir, "1/result.json")); !strings.Contains(text, `"canceled"`) {
		t.Errorf("the first life: %s", text)
	}
	for _, name := range []string{"1/job.yaml", "1/manager_digest.json", "2/job.yaml", "2/result.json"} {
		s.file(filepath.Join(dir, name))
	}
	if s.acts("job_s") != 3 {
		t.Errorf("%d starts", s.acts("job_s"))
	}
}

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("job_1", "codex", "good")
	spec.ProjectID = "proj_none"
	if _, err := job.Submit(t.Context(), s.w, s.starter, spec, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("no project: %v", err)
	}
	for _, id := range []string{"../up", strings.Repeat("j", 160), "a/b", strings.Repeat("\u00e9", 60)} {
		if _, err := job.Submit(t.Context(), s.w, s.starter, s.spec(id, "codex", "good"), nil); !fault.Is(err, fault.InvalidParams) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	if _, err := job.Submit(t.Context(), s.w, s.starter, s.spec("job_1", "codex", strings.Repeat("x", 2<<20)), nil); !fault.Is(err, fault.InvalidParams) {
		t.Errorf("a huge goal: %v", err)
	}
	if s.w.Exists(workspace.ProjectDir("proj_none")) || s.w.Exists(workspace.ProjectDir(s.project)+"/jobs") {
		t.Error("something was created")
	}
	damaged := workspace.ProjectDir(s.project) + "/jobs/job_d/job.yaml"
	if err := os.MkdirAll(filepath.Join(s.w.Dir(), filepath.Dir(damaged)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.w.Dir(), damaged), []byte("schema_version: 1\ntype: job_record\nmine: true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := job.Poll(t.Context(), s.w, s.starter, s.project, "job_d")
	_, submitErr := job.Submit(t.Context(), s.w, s.starter, s.spec("job_d", "codex", "good"), nil)
	if !fault.Is(err, fault.InvalidFile) || !fault.Is(submitErr, fault.InvalidFile) {
		t.Errorf("a damaged record: %v, %v", err, submitErr)
	}
	blank := s.submit(s.spec(" ", "codex", "good"))
	if !strings.HasPrefix(blank.Job.JobID, "job_") {
		t.Errorf("id %q", blank.Job.JobID)
	}
	s.end(blank.Job.JobID)
	jobs, err := job.List(t.Context(), s.w, s.starter, s.project, job.Filter{Limit: 200})
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs (%v)", len(jobs), err)
	}
}
