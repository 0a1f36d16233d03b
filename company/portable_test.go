package company_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ac/company"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

// TestNothingAtWorkIsReplaced holds back a replacement while a job's runner lives
// or a tick goes on, and not for what they leave behind.
func TestNothingAtWorkIsReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	all := company.New(company.Options{Env: workspace.SystemEnv()})
	defer func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	}()
	found := func() error {
		_, err := all.In(dir).Bootstrap(t.Context(), company.BootstrapParams{Departments: []string{"engineering"}, Force: true})
		return err
	}
	if err := found(); err != nil {
		t.Fatal(err)
	}
	self := proc.Self()
	owner := filepath.Join(dir, ".local/jobs/proj_x/job_x.owner.json")
	write := func(start string) {
		text, err := json.Marshal(map[string]any{"schema_version": 1, "type": "job_owner", "pid": self.PID, "process_start": start})
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(owner), 0o750), os.WriteFile(owner, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(self.Start)
	if err := found(); !fault.Is(err, fault.Conflict) {
		t.Errorf("a live runner: %v", err)
	}
	write("another process of that number")
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	tick, err := lock.Try(w.FS, ".local/heartbeat/tick.lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := found(); !fault.Is(err, fault.Conflict) {
		t.Errorf("a tick: %v", err)
	}
	if err := errors.Join(tick.Release(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := found(); err != nil {
		t.Errorf("nothing is at work: %v", err)
	}
}
