package doctor

import (
	"context"
	"testing"

	"ac/workspace"
)

// TestGlance checks that the cheap checks pass in a healthy workspace and find a broken
// machine.yaml. Without a workspace only one check runs.
func TestGlance(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := map[string]bool{}
	for _, check := range RunCheapChecks(context.Background(), f.patient()) {
		if seen[check.ID] = true; check.Status != Pass && check.ID != "disk.free" { // the disk may be full
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
