package doctor

import (
	"context"
	"testing"

	"ac/workspace"
)

// TestGlance finds nothing in a healthy workspace, and what is wrong with machine.yaml. A
// folder that is no workspace fails.
func TestGlance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := map[string]bool{}
	for _, check := range RunCheapChecks(context.Background(), f.patient()) {
		if seen[check.ID] = true; check.Status != Pass && check.ID != "disk.free" { // the disk of this machine may be full
			t.Errorf("%+v", check)
		}
	}
	if !seen["disk.free"] || !seen["leftovers"] || len(seen) != 5 {
		t.Errorf("the checks are %v", seen)
	}
	f.put(workspace.MachineFile, "nonsense: [")
	if checks := RunCheapChecks(context.Background(), f.patient()); checks[0].Status == Pass {
		t.Errorf("a broken machine.yaml passes: %+v", checks[0])
	}
	nowhere := f.patient()
	nowhere.Workspace = nil
	if checks := RunCheapChecks(context.Background(), nowhere); len(checks) != 1 {
		t.Errorf("without a workspace: %+v", checks)
	}
}
