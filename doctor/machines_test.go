package doctor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/doctor"
	"ac/fleet"
	"ac/fleet/fleettest"
	"ac/internal/durable"
	"ac/workspace"
	"ac/workspace/workspacetest"
)

// TestMachinesChecks makes each check of the hub warn. Without a hub none of them runs.
func TestMachinesChecks(t *testing.T) {
	t.Parallel()
	w := workspacetest.New(t, workspace.SystemEnv())
	look := func() map[string]doctor.Check {
		found := map[string]doctor.Check{}
		for _, c := range doctor.RunChecks(t.Context(), doctor.Target{Env: w.Env, Dir: w.Dir(), RequestedDir: w.Dir(), Workspace: w}).Checks {
			if strings.HasPrefix(c.ID, "hub.") {
				found[c.ID] = c
			}
		}
		return found
	}
	if found := look(); len(found) != 0 {
		t.Errorf("without a hub: %v", found)
	}
	for _, dir := range []string{fleet.HubDir, fleet.AttemptsDir, fleet.WorkersDir} {
		if err := durable.MkdirAll(w.FS, dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for id, c := range look() {
		if c.Status != doctor.Pass {
			t.Errorf("%s of an empty hub: %s", id, c.Message)
		}
	}
	attempt := fleet.AttemptRecord{
		Attempt: fleet.Attempt("p", "r", "local_r", 1), ProjectID: "p", RunID: "r", SessionRef: "local_r", Epoch: 1,
		WorkerID: "wkr_01ARZ3NDEKTSV4RRFFQ69G5FAV", State: fleet.AttemptStarted,
	}
	if err := fleet.WriteAttempt(w, attempt); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(w.Dir(), filepath.FromSlash(fleet.KeyFile))
	if err := os.WriteFile(key, []byte("seed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	found := look()
	if c := found["hub.files"]; c.Status != doctor.Warn || len(c.Details) != 1 || c.Details[0] != fleet.KeyFile {
		t.Errorf("a key that others read: %+v", c)
	}
	if c := found["hub.attempts"]; c.Status != doctor.Warn || !strings.Contains(c.Hint, "ac hub:start") {
		t.Errorf("a session without a hub: %+v", c)
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Replace(fleet.WorkersDir+"/wkr_x.yaml", []byte("type: nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fleettest.Start(t, w, func(string, json.RawMessage) (any, error) {
		return fleet.StatusResult{Running: true, Durability: "weak"}, nil
	})
	found = look()
	if c := found["hub.files"]; c.Status != doctor.Warn || !strings.Contains(strings.Join(c.Details, " "), "wkr_x.yaml") {
		t.Errorf("a broken record: %+v", c)
	}
	if c := found["hub.attempts"]; c.Status != doctor.Pass {
		t.Errorf("a session with a hub: %+v", c)
	}
	if c := found["hub.durability"]; c.Status != doctor.Warn {
		t.Errorf("a weak carrier: %+v", c)
	}
}
