package main

// The folders that a session on another machine sees.

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"ac/fleet"
	"ac/runs"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestPlacesAreThoseOverThere checks that a command line made by ac names the worker's folders and
// that files written there come back. A caller's own words stay unchanged.
func TestPlacesAreThoseOverThere(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.hire("box", 2)
	order := c.order("", nil)
	order.Argv = nil
	order.Live = &session.LiveOrder{
		Driver: session.DriverCommand, Template: []string{"cp", "-v", "@{context}/notes.md", "@{outputs}/{MODEL}"}, Model: "copy.md", Prompt: "copy", Version: "1", ActorID: "human",
		Cause: session.CauseLaunch, Policy: doc.RunPolicy{PermissionLevel: doc.LevelRunCommands, Mode: runpolicy.MostMode(doc.LevelRunCommands, false), Rules: []doc.PolicyRule{}},
	}
	run, err := runs.Load(c.w, order.ProjectID, order.RunID)
	if err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(c.w.Dir(), filepath.FromSlash(path.Join(workspace.ContextPackDir(order.ProjectID, run.ContextPackID), "bundle")))
	if err := os.MkdirAll(bundle, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "notes.md"), []byte("read me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.ask(fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
	if record := c.collect(order); record.Status != doc.StatusEnded {
		t.Errorf("%s: %s", record.Status, record.Error)
	}
	_, printed := c.log(order)
	if strings.Contains(printed, c.w.Dir()) || strings.Contains(printed, "@{") || !strings.Contains(printed, c.folders["box"]) {
		t.Errorf("it was told %q", printed)
	}
	text, err := os.ReadFile(filepath.Join(c.w.Dir(), filepath.FromSlash(workspace.RunDir(order.ProjectID, order.RunID)), "outputs", "copy.md"))
	if err != nil || string(text) != "read me\n" {
		t.Errorf("%q: %v", text, err)
	}

	own := c.launch(`echo '@{outputs} @{context}'`, nil)
	c.collect(own)
	if _, printed := c.log(own); printed != "@{outputs} @{context}\n" {
		t.Errorf("a caller's words became %q", printed)
	}
}
