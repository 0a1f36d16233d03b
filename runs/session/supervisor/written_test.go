package supervisor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/workspace"
	"ac/workspace/doc"
)

// TestSecretsOfOutputs has a provider write a secret into its outputs. The secret is masked
// there, and the file keeps its mode. Links, pipes and the like are left alone.
func TestSecretsOfOutputs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("exit", "0")
	outputs := workspace.RunDir(order.ProjectID, order.RunID) + "/outputs"
	order.Argv = []string{"/bin/sh", "-c", `cd "$0" && printf 'a%sb' "$API_TOKEN" >mine.md && chmod 600 mine.md && ln -s ../run.yaml link && mkdir -p sub/deep && printf '%s' "$API_TOKEN" >sub/deep/stdout.txt && mkfifo pipe && : >empty`, outputs}
	order.Env = map[string]string{"API_TOKEN": "hush-hush"}
	if record := s.execute(order); record.Status != doc.StatusEnded || record.Error != "" {
		t.Errorf("%s %s", record.Status, record.Error)
	}
	if got := s.output(order, "mine.md"); got != "a[REDACTED]b" {
		t.Errorf("%q", got)
	}
	if got := s.output(order, "sub/deep/stdout.txt"); got != "[REDACTED]" {
		t.Errorf("in a folder: %q", got)
	}
	st, err := os.Stat(filepath.Join(s.w.Dir(), outputs, "mine.md"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", st, err)
	}
	left, err := os.ReadDir(filepath.Join(s.w.Dir(), outputs))
	if err != nil || len(left) != 8 {
		t.Errorf("%v (%v)", left, err)
	}
}

// TestSecretsOfErrors starts a missing program whose path has a secret. The secret is masked in
// the error and in the log.
func TestSecretsOfErrors(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("exit", "0")
	order.Argv, order.Env = []string{"/nowhere/hush-hush"}, map[string]string{"API_TOKEN": "hush-hush"}
	record := s.execute(order)
	if record.Status != doc.StatusFailed || !strings.Contains(record.Error, "/nowhere/[REDACTED]") {
		t.Errorf("%s %s", record.Status, record.Error)
	}
	log, err := s.w.Read(workspace.LogFile(order.ProjectID, order.RunID))
	if err != nil || strings.Contains(string(log), "hush") {
		t.Errorf("%s (%v)", log, err)
	}
}
