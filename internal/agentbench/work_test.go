//go:build agents

package agentbench

// Prompts, working directories, trust, and what ac knows of the CLIs.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPromptArrives checks that a prompt of 300 KB reaches the model byte for byte.
func TestPromptArrives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Text: "read", Usage: Usage{Input: 10, Output: 2}}))
		prompt := oddPrompt()
		r := c.launch(prompt, nil)
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		c.charged(r)
		for _, asked := range c.model.Requests() {
			if strings.Contains(strings.Join(asked.Texts, "\n"), prompt) {
				return
			}
		}
		for _, asked := range c.model.Requests() {
			text := strings.Join(asked.Texts, "\n")
			at := strings.Index(text, "- BEGIN")
			t.Logf("%s: %d bytes, begins at %d", asked.API, len(text), at)
			for i := 0; at >= 0 && i < len(prompt) && at+i < len(text); i++ {
				if prompt[i] != text[at+i] {
					t.Logf("differs at %d: sent %q, arrived %q", i, prompt[max(0, i-20):min(len(prompt), i+40)], text[max(0, at+i-20):min(len(text), at+i+40)])
					break
				}
			}
		}
		t.Error("the prompt did not arrive as it was sent")
	})
}

// TestWhereItWorks checks that an agent works in the repository of its run, whatever
// the caller's PWD is.
func TestWhereItWorks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "pwd > made.txt"}}}, Reply{Text: "done", Usage: Usage{Input: 10, Output: 2}}))
		repo := c.repo()
		r := c.launch("make a file", object{"repo_id": "web"})
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		made, err := os.ReadFile(filepath.Join(repo, "made.txt"))
		if there, _ := filepath.EvalSymlinks(repo); err != nil || strings.TrimSpace(string(made)) != there {
			t.Errorf("%s (%v)\n%s", made, err, show(r.transcript()))
		}
	})
}

// TestWorktree checks that an agent with a coding milestone works in its own worktree.
func TestWorktree(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k kind) {
		c := newCompany(t, k, Steps(Usage{}, Reply{Calls: []Call{{Run: "pwd > made.txt"}}}, Reply{Text: "done", Usage: Usage{Input: 10, Output: 2}}))
		repo := c.repo()
		task := c.ac("task:new", c.dir, "--project", c.project, "--title", "Code")
		milestone := c.ac("task:add-milestone", c.dir, "--project", c.project, "--task", task, "--title", "Coded", "--kind", "coding", "--accept", "It is there")
		r := c.launch("make a file", object{"repo_id": "web", "task_id": task, "milestone_id": milestone})
		if p := r.end(); p.Status != "ended" {
			t.Fatalf("%+v\n%s", p, show(r.transcript()))
		}
		made, err := filepath.Glob(filepath.Join(c.dir, ".local/worktrees/*/*/*/made.txt"))
		if err != nil || len(made) != 1 {
			t.Fatalf("%v (%v)\n%s", made, err, show(r.transcript()))
		}
		text, err := os.ReadFile(made[0])
		if there, _ := filepath.EvalSymlinks(filepath.Dir(made[0])); err != nil || strings.TrimSpace(string(text)) != there {
			t.Errorf("it worked in %s (%v)", text, err)
		}
		if _, err := os.Stat(filepath.Join(repo, "made.txt")); err == nil {
			t.Error("it wrote into the repository beside")
		}
	})
}

// TestTrust checks that an agent in an untrusted folder reports that. claude and
// opencode require no trust when unattended.
func TestTrust(t *testing.T) {
	t.Parallel()
	for i, argv := range map[int]string{0: "codex exec --sandbox workspace-write --color never --json -", 3: "gemini --approval-mode=yolo --output-format stream-json"} {
		k := kinds()[i]
		k.argv = words(argv)
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, k, Steps(Usage{}, Reply{Text: "done"}))
			if p := c.launch("try", nil).end(); p.Status != "failed" || p.ErrorKind != "trust" || p.Error == "" {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestAdapters checks what ac reports about the installed CLIs. It runs alone, before the
// parallel tests, because a probe of a CLI has only 20 seconds.
func TestAdapters(t *testing.T) { //nolint:paralleltest // see above
	c := newCompany(t, kinds()[0], Steps(Usage{}, Reply{Text: "asked"}))
	// Poll: a probe may take longer than an answer waits for it.
	for deadline := time.Now().Add(longest); time.Now().Before(deadline); {
		var adapters []struct {
			Name      string `json:"name"`
			Available bool   `json:"available"`
			Reason    string `json:"reason"`
			Version   string `json:"version"`
			TriedWith string `json:"tried_with"`
			Probe     *struct {
				OK     bool   `json:"ok"`
				Detail string `json:"detail"`
			} `json:"probe"`
			Capabilities struct {
				Resumable bool `json:"supports_resumable_session"`
			} `json:"capabilities"`
		}
		text := c.ac("rpc:call", "--method", "adapter.status", "--params", fmt.Sprintf(`{"workspace_dir":%q}`, c.dir))
		if err := json.Unmarshal([]byte(text), &adapters); err != nil {
			t.Fatal(err)
		}
		good := len(adapters) == 4
		for _, a := range adapters {
			good = good && a.Available && a.Version == a.TriedWith && a.Probe != nil && a.Probe.OK
		}
		if good {
			if n := len(c.model.Requests()); n > 0 {
				t.Errorf("the probes asked a model %d times", n)
			}
			return
		}
		t.Logf("%+v", adapters)
	}
	t.Error("an adapter is not as it was tried")
}
