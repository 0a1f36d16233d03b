//go:build agents

package agentbench

// The first minute of a user who has codex: from an empty home to a change by codex.

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAMinute starts in a home in which ac never ran. Four short commands must show what codex
// said and changed, within a minute.
func TestAMinute(t *testing.T) {
	t.Parallel()
	model, err := Start(Steps(Usage{}, Reply{Calls: []Call{{Run: "echo written >minute.txt"}}, Usage: Usage{Input: 10, Output: 5}}, Reply{Text: "The file is written.", Usage: Usage{Input: 20, Output: 7}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	c := &company{t: t, model: model, home: t.TempDir()}
	c.configure(true)
	shop := filepath.Join(c.home, "shop")
	made := exec.Command("sh", "-c", "git init -q -b main shop && cd shop && git -c user.name=a -c user.email=a@b.example commit -q --allow-empty -m First")
	made.Dir, made.Env = c.home, c.environ
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	began := time.Now()
	if said := c.ac("-C", shop, "init", shop, "--agents", "codex"); !strings.Contains(said, "ac run --agent Codex ") {
		t.Fatalf("codex is not ready:\n%s", said)
	}
	if said := c.ac("-C", shop, "run", "--agent", "Codex", "--mode", "full_auto", "Write minute.txt"); said != "The file is written." {
		t.Errorf("in a pipe: %q", said)
	}
	logged, diff := c.ac("-C", shop, "logs", "last"), c.ac("-C", shop, "diff", "last")
	took := time.Since(began)
	for _, what := range []string{"» you: Write minute.txt", "echo written >minute.txt", "« The file is written."} {
		if !strings.Contains(logged, what) {
			t.Errorf("the transcript has no %q:\n%s", what, logged)
		}
	}
	if !strings.Contains(diff, "+written") {
		t.Errorf("the change is not shown:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(shop, "minute.txt")); err == nil {
		t.Error("it wrote into the repository, not into a worktree")
	}
	t.Logf("from an empty home to its change: %s", took.Round(10*time.Millisecond))
	if took > time.Minute {
		t.Errorf("it took %s", took)
	}
}
