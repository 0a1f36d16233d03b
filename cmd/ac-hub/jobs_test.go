package main

// Jobs whose attempts run on other machines.

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ac/fleet"
	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/internal/proc/proctest"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// codexOver is a codex that only workers have. It records its arguments, writes into its working
// directory, and behaves as the prompt asks: "too much" fails once with a rate limit, "first
// nonsense" answers once without JSON.
const codexOver = `#!/bin/sh
case "$1" in
login) echo "Logged in using ChatGPT"; exit 0;;
--version) echo "codex-cli 0.99.0"; exit 0;;
esac
for word; do case "$word" in
--help) echo "Usage: codex exec --json --output-schema <FILE> --disable <FEATURE>"; exit 0;;
esac; done
if [ -z "$AC_WORKER_ID" ]; then # it is only looked at
  [ "$1" = exec ] && echo '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}'
  exit
fi
echo "$@" >> words.txt
schema=
while [ $# -gt 0 ]; do
  [ "$1" = --output-schema ] && schema=$2
  shift
done
prompt=$(cat)
echo "$AC_WORKER_ID" >> "$HOME/starts"
[ -n "$schema" ] && cp "$schema" schema.json
case "$prompt" in *"wait for a sign"*) echo $$ > "$HOME/waits"; while [ ! -e "$HOME/sign" ]; do sleep 0.02; done;; esac
case "$prompt" in *"too much"*)
  [ -e "$HOME/tried" ] || { touch "$HOME/tried"; echo '{"type":"turn.failed","error":{"message":"429 Too Many Requests: rate limit reached"}}'; exit 1; };;
esac
case "$prompt" in
*"first nonsense"*) case "$prompt" in *"Previous output"*) ;; *) echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"no JSON at all"}}'; exit 0;; esac;;
esac
echo '{"type":"thread.started","thread_id":"th"}'
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"{\"text\":\"done over there\",\"summary\":\"s\",\"cannot\":null}"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'
`

// jobs is a company where only the workers have a codex.
type jobs struct {
	*company
	starter *job.Starter
	home    string // of the workers
	agent   string
}

func (c *company) jobs() *jobs {
	c.t.Helper()
	j := &jobs{company: c, home: workspace.Canonical(c.t.TempDir())}
	over := c.t.TempDir()
	if err := proctest.WriteProgram(filepath.Join(over, "codex"), []byte(codexOver)); err != nil {
		c.t.Fatal(err)
	}
	var err error
	if j.agent, err = c.w.NewAgent(c.t.Context(), workspace.AgentSpec{Name: "Cora", Role: "worker", Provider: "codex"}); err != nil {
		c.t.Fatal(err)
	}
	clean := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"OPENAI_API_KEY", "CODEX_API_KEY", "HOME"}, name)
	})
	j.starter = &job.Starter{Executable: filepath.Join(c.bin, "ac"), Environ: clean}
	c.environ = append(slices.Clone(clean), "PATH="+over+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+j.home)
	return j
}

func (j *jobs) spec(id, goal string) doc.JobSpec {
	return doc.JobSpec{
		SchemaVersion: 1, Type: "job", JobID: id, JobKind: doc.JobExecution, WorkerKind: "codex", WorkspaceDir: j.w.Dir(), ProjectID: j.project,
		Goal: goal, Constraints: []string{}, Deliverables: []string{}, PermissionLevel: "read-only", ContextRefs: []doc.ContextRef{}, WorkerAgentID: j.agent,
	}
}

func (j *jobs) submit(id, goal string, order doc.JobOrder) {
	j.t.Helper()
	if order.Answer == "" {
		order.Answer = doc.AnswerText
	}
	if _, err := job.Submit(j.t.Context(), j.w, j.starter, j.spec(id, goal), &order); err != nil {
		j.t.Fatalf("submit: %v", err)
	}
}

// finished waits for the end of a job and returns its record and results.
func (j *jobs) finished(id string) (doc.Job, job.Results) {
	j.t.Helper()
	ctx, cancel := context.WithTimeout(j.t.Context(), patience)
	defer cancel()
	record, err := job.Await(ctx, j.w, j.starter, j.project, id)
	if err != nil || !record.Over() {
		j.t.Fatalf("%s: %v: %+v", id, err, record)
	}
	left, err := job.Collect(j.w, j.project, id)
	if err != nil || left.Result == nil {
		j.t.Fatalf("%s: %+v: %v", id, left, err)
	}
	return record, left
}

func (j *jobs) started() int {
	text, err := os.ReadFile(filepath.Join(j.home, "starts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// held waits until the agent waits for the sign, and returns the job's newest attempt.
func (j *jobs) held(id string) doc.JobAttempt {
	j.t.Helper()
	j.until("the agent waits", func() bool { _, err := os.Stat(filepath.Join(j.home, "waits")); return err == nil })
	record, err := job.Poll(j.t.Context(), j.w, j.starter, j.project, id)
	if err != nil || record.Last() == nil {
		j.t.Fatalf("%+v: %v", record, err)
	}
	return *record.Last()
}

func (j *jobs) sign() {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.home, "sign"), nil, 0o600); err != nil {
		j.t.Fatal(err)
	}
}

func remote() *doc.Placement { return &doc.Placement{Where: doc.WhereRemote} }

// TestAJobOnAnotherMachine checks that guard, command line, schema and answer are the worker's.
// An invalid answer is repaired there.
func TestAJobOnAnotherMachine(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	j.submit("one", "first nonsense", doc.JobOrder{Placement: remote()})
	record, left := j.finished("one")
	if left.Result.Status != doc.ResultSucceeded || left.Answer == nil || left.Answer.Answer.Text.Text != "done over there" || len(record.Attempts) != 2 || j.started() != 2 {
		t.Fatalf("%+v\n%+v\n%d starts", record, left.Result, j.started())
	}
	if record.Order == nil || record.Order.Placement == nil || record.Order.Placement.Where != doc.WhereRemote {
		t.Errorf("its order is %+v", record.Order)
	}
	for _, a := range record.Attempts {
		s, err := session.Read(c.w, a.SessionRef)
		if err != nil || s.WorkerID == "" || a.ProviderVersion != "codex-cli 0.99.0" || a.ProviderHelpHash == "" {
			t.Errorf("attempt %d: %+v %+v: %v", a.Attempt, a, s, err)
		}
		types, _ := c.log(session.Order{ProjectID: j.project, RunID: a.RunID})
		for _, kind := range []string{"worker.subscription_check.passed", "worker.cli.provenance", "policy.decision", "worker.placed", "worker.claimed", "worker.results"} {
			if count(types, kind) != 1 {
				t.Errorf("%d of %s: %v", count(types, kind), kind, types)
			}
		}
		run, err := runs.Load(c.w, j.project, a.RunID)
		if err != nil || run.Placement == nil || slices.ContainsFunc(run.Spec.Argv, func(word string) bool { return strings.Contains(word, c.w.Dir()) }) {
			t.Errorf("%+v: %v", run, err)
		}
	}
	var schema struct {
		Type string `json:"type"`
	}
	found := false
	err := filepath.WalkDir(c.folders["box"], func(name string, _ os.DirEntry, err error) error {
		if filepath.Base(name) == "schema.json" && err == nil {
			text, _ := os.ReadFile(name)
			found = json.Unmarshal(text, &schema) == nil && schema.Type == "object"
		}
		return nil
	})
	if err != nil || !found {
		t.Errorf("the schema did not come over there: %v", err)
	}
}

// TestAnAttemptGoesOnFromTheOneBefore checks that the next attempt's worktree contains what the
// previous one changed on the worker, and that this becomes the job's change.
func TestAnAttemptGoesOnFromTheOneBefore(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	r := c.repository()
	base := r.git("rev-parse", "HEAD")
	j.submit("one", "first nonsense", doc.JobOrder{Placement: remote(), Place: &doc.JobPlace{RepoID: "shop", Isolation: doc.IsolationWorktree}})
	record, left := j.finished("one")
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 2 {
		t.Fatalf("%+v\n%+v", record, left.Result)
	}
	run, err := runs.Load(c.w, j.project, record.Attempts[1].RunID)
	if err != nil || run.WorktreeBase != base {
		t.Fatalf("%+v: %v", run, err)
	}
	_, _, branch := run.Tree()
	commit, err := worktree.WorkCommit(t.Context(), os.Environ(), r.root, run.ID, branch)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(r.git("show", commit+":words.txt")+"\n", "\n"); lines != 2 {
		t.Errorf("the second attempt wrote %d lines into what the first one left", lines)
	}
}

// TestAJobThatNoMachineTakes checks that a job that fits no worker ends as blocked, with the reason.
// With placement "any" it runs here.
func TestAJobThatNoMachineTakes(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	j.submit("none", "g", doc.JobOrder{Placement: &doc.Placement{Where: doc.WhereRemote, Labels: []string{"gpu"}}})
	if _, left := j.finished("none"); left.Result.Status != doc.ResultBlocked || left.Result.Errors[0].Code != string(fleet.NoWorker) {
		t.Errorf("%+v", left.Result)
	}
	j.submit("any", "g", doc.JobOrder{Placement: &doc.Placement{Where: doc.WhereAny, Labels: []string{"gpu"}}})
	record, left := j.finished("any")
	if s, err := session.Read(c.w, record.Last().SessionRef); err == nil && s.WorkerID != "" {
		t.Errorf("it ran over there: %+v", s)
	}
	if left.Result.Status == doc.ResultSucceeded {
		t.Error("there is a codex here") // this machine has no signed-in codex
	}
	for field, order := range map[string]doc.JobOrder{
		"order.place.isolation": {Placement: remote(), Place: &doc.JobPlace{RepoID: "shop", Isolation: doc.IsolationNone}},
		"order.place.repo_id":   {Placement: &doc.Placement{Where: doc.WhereAny}, Place: &doc.JobPlace{RepoID: "plain", Isolation: doc.IsolationWorktree}},
	} {
		_ = c.repository()
		_, err := job.Submit(t.Context(), c.w, j.starter, j.spec("refused", "g"), &order)
		e, ok := errors.AsType[*fault.Error](err)
		if !ok || len(e.Issues) != 1 || e.Issues[0].Field() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestAWorkerUnderPressureIsPassedOver checks that a provider cools down only on the worker that
// hit the rate limit.
func TestAWorkerUnderPressureIsPassedOver(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("one", 2)
	c.hire("two", 2)
	j.submit("job", "too much", doc.JobOrder{Placement: remote()})
	record, left := j.finished("job")
	if left.Result.Status != doc.ResultSucceeded || len(record.Attempts) != 2 {
		t.Fatalf("%+v\n%+v", record, left.Result)
	}
	first, err := session.Read(c.w, record.Attempts[0].SessionRef)
	second, readErr := session.Read(c.w, record.Attempts[1].SessionRef)
	if err = errors.Join(err, readErr); err != nil || first.WorkerID == second.WorkerID {
		t.Errorf("%+v %+v: %v", first, second, err)
	}
	if _, here, err := lane.New(c.w).Cooldown("codex"); here || err != nil {
		t.Errorf("it cools down here: %v", err)
	}
}

// TestTheAgentSaysWhereItsJobsRun checks that an agent's launcher.placement is the default for
// its jobs.
func TestTheAgentSaysWhereItsJobsRun(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	j := c.jobs()
	c.hire("box", 2)
	file := filepath.Join(c.w.Dir(), filepath.FromSlash(workspace.AgentFile(j.agent)))
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "launcher: {}", "launcher: {placement: {where: remote}}", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // their prompts and the number of slots do not matter
		j.submit("job"+strconv.Itoa(i), "g", doc.JobOrder{})
	}
	for i := range 3 {
		if record, left := j.finished("job" + strconv.Itoa(i)); left.Result.Status != doc.ResultSucceeded {
			t.Errorf("%+v %+v", record, left.Result)
		}
	}
}
