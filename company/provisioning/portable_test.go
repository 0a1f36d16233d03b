package provisioning_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ac/company"
	"ac/company/companytest"
	"ac/company/orchestration"
	"ac/company/provisioning"
	"ac/heartbeat/workflow"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/workspace"
)

// TestNothingAtWorkIsReplaced checks that a company cannot be replaced while a job's runner lives
// or a tick runs. Stale records of either do not block it.
func TestNothingAtWorkIsReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	all := companytest.New(t)
	found := func() error {
		_, err := in(all, dir).Bootstrap(t.Context(), provisioning.BootstrapParams{Departments: []string{"engineering"}, Force: true})
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

// TestWorkflowsTravel exports a new company and imports it elsewhere. It checks that its workflows
// are found there and that the imported agents can run them.
func TestWorkflowsTravel(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	from, packed, to := filepath.Join(top, "from"), filepath.Join(top, "packed"), filepath.Join(top, "to")
	all := companytest.New(t)
	if _, err := in(all, from).Bootstrap(t.Context(), provisioning.BootstrapParams{Departments: []string{"engineering", "design"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := in(all, from).Export(t.Context(), provisioning.ExportParams{Dir: company.Dir{WorkspaceDir: from}, OutDir: packed}); err != nil {
		t.Fatal(err)
	}
	if _, err := in(all, to).Import(t.Context(), provisioning.ImportParams{Dir: company.Dir{WorkspaceDir: to}, SrcDir: packed}); err != nil {
		t.Fatal(err)
	}
	in := company.Dir{WorkspaceDir: to}
	left, err := company.Do(t.Context(), all, orchestration.Operations.ListWorkflows, orchestration.ListWorkflowsParams{Dir: in})
	if err != nil || len(left.Workflows) != 3 || len(left.Problems) > 0 {
		t.Fatalf("%+v (%v)", left, err)
	}
	for _, row := range left.Workflows {
		checked, err := company.Do(t.Context(), all, orchestration.Operations.CheckWorkflow, orchestration.CheckWorkflowParams{Dir: in, WorkflowID: row.WorkflowID})
		if err != nil || len(checked.Issues) > 0 || slices.ContainsFunc(checked.Agents, func(c workflow.Choice) bool { return !c.Available }) {
			t.Errorf("%s: %+v (%v)", row.WorkflowID, checked, err)
		}
	}
}
