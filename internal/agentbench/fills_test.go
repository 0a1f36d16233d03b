//go:build agents

package agentbench

// Filled artifacts, pipelines, self-improvement cycles and the heartbeat, with the real agent CLIs.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// document returns the template that a prompt ends with.
func document(r Request) string {
	text := strings.Join(r.Texts, "\n")
	at := strings.LastIndex(text, "\n---\nschema_version")
	if at < 0 {
		at = strings.LastIndex(text[:strings.LastIndex(text, "\n---\n")], "\n---\n")
	}
	return strings.TrimSpace(text[at+1:]) + "\n"
}

func filler(r Request) Reply {
	if reply, ok := Bookkeeping(r, Usage{}); ok {
		return reply
	}
	return Reply{Text: document(r), Usage: Usage{Input: 100, Output: 50}}
}

// TestFill checks that each agent can write an artifact.
func TestFill(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, filler)
		made := filepath.Join(c.home, "made.md")
		c.ac("artifact:new", "proposal", made, "--title", "Checkout", "--visibility", "team", "--by", c.agent)
		text, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		id := regexp.MustCompile(`(?m)^id: (\S+)`).FindStringSubmatch(string(text))[1]
		if err := os.WriteFile(filepath.Join(c.dir, "work/projects", c.project, "artifacts", id+".md"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := c.try("artifact:fill", c.dir, "--project", c.project, "--artifact", id, "--agent", c.agent)
		if err != nil || !strings.Contains(out, `"ok": true`) {
			t.Fatalf("%s %v", out, err)
		}
	})
}

// TestPipeline checks that each agent can write a plan.
func TestPipeline(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		c := companyOf(t, k, true, filler)
		boss := func(role string) string {
			return c.ac("agent:new", c.dir, "--name", role, "--role", role, "--provider", k.provider, "--team", c.team)
		}
		out, err := c.try("pipeline:plan", c.dir, "--name", "Shop", "--ceo", boss("ceo"), "--director", boss("director"), "--managers", boss("manager"), "--intake", "Sell shoes.")
		if err != nil || !strings.Contains(out, `"workplan"`) {
			t.Fatalf("%s %v", out, err)
		}
	})
}

// TestImprovement checks that a self-improvement cycle runs its evaluation with an agent.
func TestImprovement(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		if k.argv == nil { // an evaluation needs a command, so use that of codex exec
			k.argv = kinds()[0].argv
		}
		c := companyOf(t, k, true, Steps(Usage{}, Reply{Text: "fine", Usage: Usage{Input: 10, Output: 1}}))
		manager := c.ac("agent:new", c.dir, "--name", "Max", "--role", "manager", "--provider", k.provider, "--team", c.team)
		args := []string{"agent:self-improve-cycle", c.dir, "--project", c.project, "--worker", c.agent, "--manager", manager, "--key", "no_tests",
			"--summary", "no tests were run", "--rule", "Run the tests before you report.", "--proposal-threshold", "1", "--eval-argv"}
		argv := slices.Clone(k.argv)
		switch k.worker {
		case "codex":
			argv[len(argv)-1] = "check it"
		case "claude":
			argv = append(argv, "--", "check it")
		default:
			argv = append(argv, "--prompt=check it")
		}
		out, err := c.try(append(args, argv...)...)
		if err != nil || !strings.Contains(out, "delta") {
			t.Fatalf("%s %v", out, err)
		}
		if len(c.model.Requests()) == 0 {
			t.Error("the model was not asked")
		}
	})
}

// TestHeartbeat checks that a tick wakes a worker and accepts its report.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	eachWorker(t, func(t *testing.T, k kind) {
		report := object{"schema_version": 1, "type": "heartbeat_worker_report", "status": "ok", "token": "HEARTBEAT_OK", "summary": "Nothing is due."}
		c := companyOf(t, k, true, func(r Request) Reply {
			if reply, ok := Bookkeeping(r, Usage{}); ok {
				return reply
			}
			return final(r, report)
		})
		c.ac("heartbeat:enable", c.dir)
		// A failed run makes the tick wake its worker.
		failing := *c
		failing.kind = kind{provider: "cmd", argv: []string{"sh", "-c", "exit 1"}}
		failing.launch("", nil).end()
		var tick struct {
			Woken []json.RawMessage `json:"woken_workers"`
			OK    int               `json:"reports_ok"`
		}
		text := c.ac("heartbeat:tick", c.dir)
		if err := json.Unmarshal([]byte(text), &tick); err != nil {
			t.Fatal(err)
		}
		if len(tick.Woken) != 1 || len(c.model.Requests()) == 0 || !strings.Contains(text, "ok") {
			t.Error(text)
		}
	})
}
