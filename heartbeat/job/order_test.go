package job_test

// Jobs with an order: each kind of answer, and workers without a driver.

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

// ordered submits a job with an order and waits for its end.
func (s *stage) ordered(spec doc.JobSpec, order doc.JobOrder) (doc.Job, job.Results) {
	s.t.Helper()
	return s.end(s.submitOrder(spec, &order).Job.JobID)
}

// commandAgent creates an agent without a driver, with its own command line.
func (s *stage) commandAgent(name string, words ...string) string {
	s.t.Helper()
	id, err := s.w.NewAgent(s.t.Context(), workspace.AgentSpec{Name: name, Role: "worker", Provider: "cmd"})
	if err != nil {
		s.t.Fatal(err)
	}
	template, err := json.Marshal(words)
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.w.Dir(), workspace.AgentFile(id))
	text := strings.Replace(s.file(workspace.AgentFile(id)), "launcher: {}", "launcher: {command_argv_template: "+string(template)+"}", 1)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return id
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	said := map[string]string{
		doc.AnswerText:    `{"text":"a < b","summary":null,"cannot":null}`,
		doc.AnswerFiles:   `{"files":[{"path":"./a.txt","content":"x\n","selection":null,"delete":null,"language":null,"kind":null,"summary":"why"}],"summary":"one","cannot":null}`,
		doc.AnswerReview:  `{"issues":[{"severity":"error","message":"m","line":3,"suggestion":null,"path":"a.go"}],"summary":"bad","cannot":null}`,
		doc.AnswerVerdict: `{"approved":true,"text":"","cannot":null}`,
		doc.AnswerPlan:    `{"done":false,"text":"go","tasks":[{"agent":"a","goal":"g"}],"cannot":null}`,
	}
	texts := map[string]string{
		doc.AnswerText: "a < b", doc.AnswerFiles: "one\n- ./a.txt: why", doc.AnswerReview: "bad\n- error a.go:3: m", doc.AnswerPlan: "go",
	}
	for kind, answer := range said {
		record, left := s.ordered(s.spec("job_"+kind, "codex", "tell "+answer), doc.JobOrder{Answer: kind})
		if left.Result.Status != doc.ResultSucceeded || left.Answer == nil || left.Answer.Kind != kind || len(record.Attempts) != 1 {
			t.Fatalf("%s: %+v %+v", kind, left.Result, left.Answer)
		}
		if left.Answer.Answer.PlainText() != texts[kind] || left.Digest.Signals.Normalization != "answer_valid" || left.Answer.AttemptRunID != record.Attempts[0].RunID {
			t.Errorf("%s: %q %+v", kind, left.Answer.Answer.PlainText(), left.Digest.Signals)
		}
		if a := left.Result.Artifacts; len(a) != 1 || a[0].Relpath != "jobs/job_"+kind+"/answer.json" || a[0].Kind != "job_answer" {
			t.Errorf("%s: artifacts %+v", kind, a)
		}
		schema := s.file(workspace.RunDir(s.project, record.Attempts[0].RunID) + "/outputs/result_spec_schema_" + record.Attempts[0].RunID + ".json")
		if !strings.Contains(schema, `"cannot"`) || strings.Contains(schema, "files_changed") {
			t.Errorf("%s: the schema: %s", kind, schema)
		}
		if prompt := s.prompt(record.Attempts[0]); !strings.Contains(prompt, "one answer of kind "+kind) || !strings.Contains(prompt, "goal: tell ") {
			t.Errorf("%s: the prompt: %s", kind, prompt)
		}
	}
}

func TestAnswerIsRepaired(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	spec := s.spec("job_v", "claude", `mend {"approved":false,"text":"no"}`)
	spec.PermissionLevel = "run-commands"
	record, left := s.ordered(spec, doc.JobOrder{Answer: doc.AnswerVerdict})
	if len(record.Attempts) != 2 || left.Answer == nil || left.Answer.Answer.Verdict.Approved || *left.Digest.Signals.RetriesUsed != 1 {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	prompt := s.prompt(record.Attempts[1])
	if !strings.Contains(prompt, "- answer_schema_invalid: approved: ") || !strings.Contains(prompt, "goal: mend") {
		t.Errorf("the repair: %s", prompt)
	}
	run := s.file(workspace.RunFile(s.project, record.Attempts[1].RunID))
	if !strings.Contains(run, "dontAsk") || strings.Contains(run, "Bash") {
		t.Errorf("a repair may do more than read: %s", run)
	}
	record, left = s.ordered(s.spec("job_w", "codex", "garbage"), doc.JobOrder{Answer: doc.AnswerVerdict, Attempts: 2})
	if len(record.Attempts) != 2 || left.Result.Status != doc.ResultNeedsInput || left.Result.Errors[0].Code != "answer_unparseable" || *left.Digest.Signals.RetriesUsed != 1 {
		t.Errorf("%+v %+v", record.Attempts, left.Result)
	}
	// Once no attempt is left, output that is not JSON counts as the text itself.
	record, left = s.ordered(s.spec("job_x", "codex", "tell plain words"), doc.JobOrder{Answer: doc.AnswerText, Attempts: 2})
	if len(record.Attempts) != 2 || left.Answer == nil || left.Answer.Answer.PlainText() != "plain words" {
		t.Errorf("%+v %+v", record.Attempts, left.Result)
	}
}

func TestWorkerDeclines(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	record, left := s.ordered(s.spec("job_c", "gemini", `tell {"text":null,"cannot":"no network"}`), doc.JobOrder{Answer: doc.AnswerText})
	if len(record.Attempts) != 1 || left.Result.Status != doc.ResultBlocked || left.Answer != nil {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	if e := left.Result.Errors[0]; e.Code != job.CodeDeclined || e.Message != "no network" {
		t.Errorf("%+v", e)
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, kind := range []string{"codex", "claude", "gemini"} {
		record, left := s.ordered(s.spec("job_"+kind, kind, "hello"), doc.JobOrder{Answer: doc.AnswerProse, Instructions: "Be brief.\n"})
		if left.Answer == nil || left.Answer.Answer.PlainText() != "heard: Be brief.\n\nhello" || left.Answer.Kind != doc.AnswerProse {
			t.Errorf("%s: %+v %+v", kind, left.Result, left.Answer)
		}
		if run := s.file(workspace.RunFile(s.project, record.Attempts[0].RunID)); strings.Contains(run, "schema") && !strings.Contains(run, "schema_version") {
			t.Errorf("%s: a schema was passed: %s", kind, run)
		}
	}
	agent := s.commandAgent("Empty", "answerer", "print")
	spec := s.spec("job_none", "cmd", " ")
	spec.WorkerAgentID = agent
	record, left := s.ordered(spec, doc.JobOrder{Answer: doc.AnswerProse})
	if left.Result.Status != doc.ResultSucceeded || left.Answer == nil || left.Answer.Answer.PlainText() != "" || len(record.Attempts) != 1 {
		t.Errorf("nothing said: %+v", left.Result)
	}
	if prompt := s.file(filepath.Join(workspace.RunDir(s.project, record.Attempts[0].RunID), "outputs/prompt.txt")); prompt != "(no input)" {
		t.Errorf("the prompt: %q", prompt)
	}
}

// TestCommandWorkerIsSpoken checks that a command's attempt is a live session. Its prompt is in
// its log, but not in its recorded command line. A person may interrupt it with new
// instructions, and the answer is the last turn's output.
func TestCommandWorkerIsSpoken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.commandAgent("Holder", "answerer", "hold", "--", "{PROMPT}")
	s.submitOrder(s.spec("job_t", "cmd", "first"), &doc.JobOrder{Answer: doc.AnswerProse})
	run := ""
	s.until("the program of job_t is at work", func() bool {
		record := s.record("job_t")
		if last := record.Last(); last != nil {
			run = last.RunID
		}
		return run != "" && strings.Contains(s.file(workspace.LogFile(s.project, run)), "holding")
	})
	human := runs.Act{ProjectID: s.project, RunID: run, Actor: policy.Actor{ID: "human", Role: "human"}}
	said, err := runs.Steer(t.Context(), s.w, human, session.SteerRequest{Text: "go on", Mode: session.ModeNextTurn}, false)
	if err != nil || said.Delivery != session.DeliveryNextLaunch {
		t.Errorf("%+v: %v", said, err)
	}
	said, err = runs.Steer(t.Context(), s.w, human, session.SteerRequest{Text: "go", Mode: session.ModeInterrupt}, false)
	if err != nil || said.Delivery != session.DeliveryInterrupt {
		t.Fatalf("%+v: %v", said, err)
	}
	record, left := s.end("job_t")
	if left.Answer == nil || left.Answer.Answer.PlainText() != "went" || len(record.Attempts) != 1 {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	types := s.events(run)
	for _, want := range []string{"agent.started", "run.turn_started", "run.interrupt_requested", "run.turn_ended"} {
		if !slices.Contains(types, want) {
			t.Errorf("no %s: %q", want, types)
		}
	}
	made := must(runs.Load(s.w, s.project, run))
	if made.Live == nil || made.Live.Driver != doc.LiveCommand || made.Live.Turns != 2 || made.Live.Policy.PermissionLevel != doc.LevelReadOnly {
		t.Errorf("%+v", made.Live)
	}
	if !slices.Contains(made.Spec.Argv, "{PROMPT}") {
		t.Errorf("%q", made.Spec.Argv)
	}
}

// TestCommandWorker runs an agent without a driver. Other programs do not know its kind, so
// job.yaml names codex instead.
func TestCommandWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	agent := s.commandAgent("Printer", "answerer", "print", `{"type":"progress","message":"thinking hard about it"}`, `{"text":"done"}`)
	record, left := s.ordered(s.spec("job_p", "cmd", "x"), doc.JobOrder{Answer: doc.AnswerText, Rules: []doc.PolicyRule{{Operation: doc.OpExec, Effect: doc.Deny, Glob: "**"}}})
	if left.Answer == nil || left.Answer.Answer.PlainText() != "done" || record.Attempts[0].WorkerAgentID != agent {
		t.Fatalf("%+v %+v", record.Attempts, left.Result)
	}
	if record.Job.WorkerKind != "cmd" || record.Attempts[0].WorkerKind != "cmd" {
		t.Errorf("the record tells %s and %s", record.Job.WorkerKind, record.Attempts[0].WorkerKind)
	}
	dir := workspace.ProjectDir(s.project) + "/jobs/job_p/"
	if text := s.file(dir + "job.yaml"); strings.Contains(text, "worker_kind: cmd") || strings.Count(text, "worker_kind: codex") != 2 {
		t.Errorf("job.yaml: %s", text)
	}
	if text := s.file(dir + "order.json"); !strings.Contains(text, `"worker_kind": "cmd"`) {
		t.Errorf("order.json: %s", text)
	}
	if types := s.events(record.Attempts[0].RunID); !slices.Contains(types, "job.notice") {
		t.Errorf("nobody says that rules are not enforced: %v", types)
	}
	// A prompt after -- may look like an option.
	agent = s.commandAgent("Echo", "answerer", "echo", "--", "{PERMISSION_LEVEL}", "{PROMPT}")
	spec := s.spec("job_e", "cmd", "-x")
	spec.WorkerAgentID = agent
	if _, left = s.ordered(spec, doc.JobOrder{Answer: doc.AnswerProse}); left.Answer == nil || left.Answer.Answer.PlainText() != "--|read-only|-x" {
		t.Errorf("%+v %+v", left.Result, left.Answer)
	}
	for name, words := range map[string][]string{"swallowed": {"answerer", "echo", "--list", "{PROMPT}"}, "shell": {"/bin/sh", "-c", "{PROMPT}"}} {
		spec := s.spec("job_"+name, "cmd", "x")
		spec.WorkerAgentID = s.commandAgent(name, words...)
		if _, left := s.ordered(spec, doc.JobOrder{}); left.Result.Status != doc.ResultFailed || left.Result.Errors[0].Code != job.CodeRunnerError {
			t.Errorf("%s: %+v", name, left.Result)
		}
	}
	spec = s.spec("job_fails", "cmd", "x")
	spec.WorkerAgentID = s.commandAgent("Fails", "answerer", "fail")
	if record, _ = s.ordered(spec, doc.JobOrder{Answer: doc.AnswerProse}); strings.Count(record.Attempts[0].Error, "no paper") != 1 {
		t.Errorf("it failed for %q", record.Attempts[0].Error)
	}
	none, err := s.w.NewAgent(t.Context(), workspace.AgentSpec{Name: "None", Role: "worker", Provider: "cmd"})
	if err != nil {
		t.Fatal(err)
	}
	spec = s.spec("job_none", "cmd", "x")
	spec.WorkerAgentID = none
	if _, left := s.run(spec); left.Result.Status != doc.ResultFailed || !strings.Contains(left.Result.Errors[0].Message, "command_argv_template") {
		t.Errorf("%+v", left.Result)
	}
}

func TestOrderIsPartOfTheSpec(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := doc.JobOrder{Answer: doc.AnswerText, Attachments: []doc.Attachment{{Name: "notes", Text: "n"}}, Origin: &doc.JobOrigin{Kind: "cli"}}
	spec := s.spec("job_o", "codex", "sleep")
	s.submitOrder(spec, &order)
	s.ready("job_o")
	s.submitOrder(spec, &order)
	other := order
	other.Answer = doc.AnswerPlan
	for _, another := range []*doc.JobOrder{nil, &other} {
		if _, err := job.Submit(t.Context(), s.w, s.starter, spec, another); !fault.Is(err, fault.Conflict) {
			t.Errorf("another order: %v", err)
		}
	}
	if _, err := job.Cancel(t.Context(), s.w, s.starter, s.project, "job_o"); err != nil {
		t.Fatal(err)
	}
	record, _ := s.end("job_o")
	prompt := s.prompt(record.Attempts[0])
	if !strings.Contains(prompt, "----- begin notes mark_") || !strings.Contains(prompt, "-----\nn\n----- end notes mark_") {
		t.Errorf("the prompt: %s", prompt)
	}
	// A new life without an order has none. The previous life's order moves to its history.
	s.run(s.spec("job_o", "codex", "good"))
	dir := workspace.ProjectDir(s.project) + "/jobs/job_o/"
	if s.w.Exists(dir+"order.json") || !s.w.Exists(dir+"history/1/order.json") {
		t.Error("the order of the life before stays in force")
	}
}
