//go:build agents

package agentbench

// Jobs that run the real agent CLIs.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// eachWorker runs a test for every kind that can do jobs and fill artifacts. opencode by ACP
// can only do jobs, so only TestRights includes it.
func eachWorker(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	eachWorkerOf(t, test, "codex", "claude", "gemini")
}

func eachWorkerOf(t *testing.T, test func(t *testing.T, k kind), workers ...string) {
	t.Helper()
	for _, k := range kinds() {
		if slices.Contains(workers, k.worker) {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				test(t, k)
			})
		}
	}
}

// final returns a reply with the final answer: through claude's tool for structured
// output if it is offered, else as text.
func final(r Request, answer any) Reply {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // cannot fail: the values are ours
	}
	usage := Usage{Input: 100, Output: 10}
	if slices.Contains(r.Tools, "StructuredOutput") && !answered(r) {
		return Reply{Calls: []Call{{Name: "StructuredOutput", Args: json.RawMessage(text)}}, Usage: usage}
	}
	return Reply{Text: string(text), Usage: usage}
}

func answered(r Request) bool {
	return slices.ContainsFunc(r.Results, func(text string) bool { return strings.Contains(text, "tructured output") })
}

// result returns a worker's report.
func result(summary string) object {
	return object{
		"schema_version": 1, "type": "result", "status": "succeeded", "summary": summary, "files_changed": []object{}, "commands_run": []object{},
		"artifacts": []object{}, "next_actions": []object{}, "errors": []object{},
	}
}

var named = regexp.MustCompile(`(?m)^(job_id|attempt_run_id): (\S+)`)

// ids fills in the IDs that a result must have.
func ids(r Request, answer object) object {
	for _, m := range named.FindAllStringSubmatch(strings.Join(r.Texts, "\n"), -1) {
		answer[m[1]] = m[2]
	}
	return answer
}

// job is a job as job.poll returns it.
type job struct {
	Status   string `json:"status"`
	Attempts []struct {
		RunID   string `json:"run_id"`
		Error   string `json:"error"`
		Version string `json:"provider_version"`
	} `json:"attempts"`
	Result struct {
		Status      string `json:"status"`
		Summary     string `json:"summary"`
		NextActions []struct {
			Action string `json:"action"`
		} `json:"next_actions"`
		Errors []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Details string `json:"details"`
		} `json:"errors"`
	} `json:"result"`
}

// do submits a job and waits for its end.
func (c *company) do(permission string, more ...string) (j job) {
	c.t.Helper()
	var submitted struct {
		JobID string `json:"job_id"`
	}
	args := append([]string{"job:submit", c.dir, "--project", c.project, "--worker", c.kind.worker, "--agent", c.agent, "--goal", "do what the model says", "--permission", permission}, more...)
	if err := json.Unmarshal([]byte(c.ac(args...)), &submitted); err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		var collected struct {
			Job    job             `json:"job"`
			Record job             `json:"record"`
			Result json.RawMessage `json:"result"`
		}
		text := c.ac("job:collect", c.dir, "--project", c.project, "--job", submitted.JobID)
		if err := json.Unmarshal([]byte(text), &collected); err != nil {
			c.t.Fatalf("%v\n%s", err, text)
		}
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			c.t.Fatal(err)
		}
		if j.Status == "" {
			j = collected.Record
			if j.Status == "" {
				j = collected.Job
			}
			if len(collected.Result) > 0 && string(collected.Result) != "null" {
				if err := json.Unmarshal(collected.Result, &j.Result); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		if j.Status == "completed" || j.Status == "canceled" {
			return j
		}
	}
	c.t.Fatalf("the job goes on for more than %s", longest)
	return j
}

// elsewhere creates a folder outside of the workspace and of the folder for temporary
// files, which sandboxes leave writable.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(cliDir)), "elsewhere") //nolint:usetesting // not where temporary files lie
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestUnasked runs opencode as a command whose own settings say to ask. It must neither
// wait for an answer nor run what it should have asked about.
func TestUnasked(t *testing.T) {
	t.Parallel()
	c := newCompany(t, kinds()[4], func(r Request) Reply {
		if reply, ok := Bookkeeping(r, Usage{}); ok {
			return reply
		}
		if r.Step() == 0 {
			return Reply{Calls: []Call{{Run: "touch ran.txt"}}}
		}
		return Reply{Text: "I was not allowed to."}
	})
	c.environ = append(c.environ, `OPENCODE_PERMISSION={"bash":"ask"}`)
	r := c.launch("try", nil)
	p := r.end()
	if _, err := os.Stat(filepath.Join(c.dir, "ran.txt")); err == nil || p.Status == "running" {
		t.Errorf("%+v: it ran\n%s", p, show(r.transcript()))
	}
}

// TestRights checks what a worker can do at each permission level, and that nothing
// waits for a person.
func TestRights(t *testing.T) {
	t.Parallel()
	eachWorkerOf(t, func(t *testing.T, k kind) {
		for _, level := range []string{"read-only", "patch", "run-commands"} {
			t.Run(level, func(t *testing.T) {
				t.Parallel()
				outside := filepath.Join(elsewhere(t), "outside.txt")
				var c *company
				var seen atomic.Bool
				c = companyOf(t, k, true, func(r Request) Reply {
					if reply, ok := Bookkeeping(r, Usage{}); ok {
						return reply
					}
					switch r.Step() {
					case 0:
						return Reply{Calls: []Call{{Run: "touch ran.txt"}}}
					case 1:
						return Reply{Calls: []Call{{Write: filepath.Join(c.dir, "written.txt"), Content: "hello\n"}}}
					case 2:
						return Reply{Calls: []Call{{Run: "touch " + outside}}}
					case 3:
						return Reply{Calls: []Call{{Read: filepath.Join(c.dir, "read.txt")}}}
					}
					seen.Store(strings.Contains(r.Results[len(r.Results)-1], "what it has to know"))
					return final(r, ids(r, result("done")))
				})
				if err := os.WriteFile(filepath.Join(c.dir, "read.txt"), []byte("what it has to know\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				j := c.do(level)
				// opencode ends its turn once something is denied, so it never answers.
				givesUp := k.provider == "opencode" && level != "run-commands"
				if !givesUp && (j.Result.Status != "succeeded" || len(j.Attempts) != 1) {
					t.Fatalf("%+v\n%s", j, c.show(j))
				}
				if j.Attempts[0].Version == "" && k.worker != "acp" {
					t.Error("nobody knows which release it was")
				}
				there := func(name string) bool {
					_, err := os.Stat(filepath.Join(c.dir, name))
					return err == nil
				}
				if givesUp {
					if there("ran.txt") || level == "read-only" && there("written.txt") {
						t.Errorf("%+v\n%s", j, c.show(j))
					}
					return
				}
				if !seen.Load() {
					t.Errorf("it could not read a file\n%s", c.show(j))
				}
				if there("ran.txt") != (level == "run-commands") || there("written.txt") != (level != "read-only") {
					t.Errorf("ran %v, wrote %v\n%s", there("ran.txt"), there("written.txt"), c.show(j))
				}
				if _, err := os.Stat(outside); err == nil && (k.worker == "codex" || level != "run-commands") {
					t.Errorf("it wrote outside of its folder\n%s", c.show(j))
				}
			})
		}
	}, "codex", "claude", "gemini", "acp")
}

// show returns the transcripts of a job's attempts.
func (c *company) show(j job) string {
	var b strings.Builder
	for _, a := range j.Attempts {
		fmt.Fprintf(&b, "%s: %s\n%s", a.RunID, a.Error, show(run{c: c, id: a.RunID}.transcript()))
	}
	return b.String()
}

// TestBlocked checks that a job whose worker is not logged in ends at once, with
// advice on what to do.
func TestBlocked(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, Steps(Usage{}, Reply{Status: 401, Text: "the bench refuses"}))
		j := c.do("read-only")
		if j.Result.Status != "blocked" || len(j.Attempts) != 1 || len(j.Result.Errors) != 1 || j.Result.Errors[0].Details != "error_kind: auth" {
			t.Fatalf("%+v\n%s", j, c.show(j))
		}
		if len(j.Result.NextActions) != 1 || !strings.Contains(j.Result.NextActions[0].Action, "Log "+k.provider+" in") {
			t.Errorf("%+v", j.Result.NextActions)
		}
		t.Log(j.Result.Errors[0].Message)
	})
}

// TestRefused checks the same for a model that refuses, as its provider reports a
// refusal.
func TestRefused(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, Steps(Usage{}, Reply{Text: "Your prompt was flagged as potentially violating our usage policy.", Refused: true, Usage: Usage{Input: 10, Output: 5}}))
		j := c.do("read-only")
		if j.Result.Status != "blocked" || len(j.Attempts) != 1 || j.Result.Errors[0].Details != "error_kind: refused" {
			t.Fatalf("%+v\n%s", j, c.show(j))
		}
		if len(j.Result.NextActions) != 1 || !strings.Contains(j.Result.NextActions[0].Action, "change the goal") {
			t.Errorf("%+v", j.Result.NextActions)
		}
	})
}

// TestUntrusted checks the same for a worker in an untrusted folder. The built-in
// command lines of jobs grant the trust, so only an agent's own command line can lack it.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	c := companyOf(t, kinds()[3], true, filler)
	file := filepath.Join(c.dir, "org/agents", c.agent, "agent.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	launcher := "launcher: {command_argv_template: [gemini, --approval-mode=yolo, --output-format, stream-json]}"
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "launcher: {}", launcher, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	j := c.do("run-commands")
	if j.Result.Status != "blocked" || len(j.Attempts) != 1 || j.Result.Errors[0].Details != "error_kind: trust" {
		t.Fatalf("%+v\n%s", j, c.show(j))
	}
	if len(j.Result.NextActions) != 1 || !strings.Contains(j.Result.NextActions[0].Action, "trust the folder") {
		t.Errorf("%+v", j.Result.NextActions)
	}
}

// TestRateLimited checks that a job is retried when its provider says so. claude
// exits and is restarted. The other CLIs back off on their own.
func TestRateLimited(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		refused := 0
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			if refused++; refused <= 2 && (refused == 1 || k.worker == "claude") {
				return Reply{Status: 429, Text: "Too many requests. Please try again in 3s.", RetryAfter: 3 * time.Second}
			}
			return final(r, ids(r, result("done")))
		})
		if k.worker == "codex" {
			c.patient()
		}
		began := time.Now()
		j := c.do("read-only")
		if took := time.Since(began); j.Result.Status != "succeeded" || len(j.Attempts) > 2 || took < 3*time.Second || took > time.Minute {
			t.Errorf("%s: %+v\n%s", took, j, c.show(j))
		}
	})
}

// TestRepair checks that a worker repairs an answer of the wrong form, and that the
// repair cannot write files.
func TestRepair(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		var c *company
		c = companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			if !strings.Contains(strings.Join(r.Texts, "\n"), "Previous output:") {
				return Reply{Text: "I would rather talk."}
			}
			if r.Step() == 0 {
				return Reply{Calls: []Call{{Write: filepath.Join(c.dir, "repaired.txt"), Content: "hello\n"}}}
			}
			return final(r, ids(r, result("repaired")))
		})
		j := c.do("run-commands")
		if j.Result.Status != "succeeded" || j.Result.Summary != "repaired" || len(j.Attempts) != 2 {
			t.Fatalf("%+v\n%s", j, c.show(j))
		}
		if _, err := os.Stat(filepath.Join(c.dir, "repaired.txt")); err == nil {
			t.Errorf("the repair wrote a file\n%s", c.show(j))
		}
	})
}
