//go:build agents

package agentbench

// Jobs by the real agent CLIs.

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

// eachWorker runs a test for every way that does jobs and fills artifacts. opencode, by
// ACP, does jobs alone: TestRights has it too.
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

// final returns a reply that is the whole answer: by the tool that claude has for
// answers of a schema, else as a text.
func final(r Request, answer any) Reply {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // values of ours
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

// result is what a worker reports.
func result(summary string) object {
	return object{
		"schema_version": 1, "type": "result", "status": "succeeded", "summary": summary, "files_changed": []object{}, "commands_run": []object{},
		"artifacts": []object{}, "next_actions": []object{}, "errors": []object{},
	}
}

var named = regexp.MustCompile(`(?m)^(job_id|attempt_run_id): (\S+)`)

// ids fills in what a result has to name.
func ids(r Request, answer object) object {
	for _, m := range named.FindAllStringSubmatch(strings.Join(r.Texts, "\n"), -1) {
		answer[m[1]] = m[2]
	}
	return answer
}

// job is a job as job.poll has it.
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

// elsewhere is a folder that is neither the workspace nor one for temporary files,
// which sandboxes leave open.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(cliDir)), "elsewhere") //nolint:usetesting // not where temporary files lie
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestUnasked shows that opencode, which runs as a command by the rights that its own
// settings give, waits for nobody where those say to ask.
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

// TestRights shows what a worker of each level can do, and that nothing waits for
// anybody.
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
				// opencode gives its turn up where something is denied, and so never answers.
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

// show is the transcript of a job's attempts.
func (c *company) show(j job) string {
	var b strings.Builder
	for _, a := range j.Attempts {
		fmt.Fprintf(&b, "%s: %s\n%s", a.RunID, a.Error, show(run{c: c, id: a.RunID}.transcript()))
	}
	return b.String()
}

// TestBlocked shows that a job whose worker is not logged in ends at once, with
// what to do about it.
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

// TestRefused shows the same for a model that refuses, in the way in which its
// provider says so.
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

// TestUntrusted shows the same for a worker in a folder that nobody trusts. The
// command lines of jobs bring the trust that they need: only an agent's own command
// line may lack it.
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

// TestRateLimited shows that a worker whose provider names a time is asked again
// then. claude gives up and is started again; the others wait by themselves.
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

// TestRepair shows that a worker that answers out of shape repairs its answer, and
// may then do nothing but read.
func TestRepair(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		var c *company
		main := 0
		c = companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			main++
			if !strings.Contains(strings.Join(r.Texts, "\n"), "Previous output:") {
				if r.Step() == 0 && slices.Contains(r.Tools, "StructuredOutput") {
					return Reply{Text: "I would rather talk."}
				}
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
