package orchestration

// The hub's secrets: its keys, tokens and orders never leave the machine and reach no client.

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/company/decisions"
	"ac/company/maintenance"
	"ac/company/provisioning"
	"ac/company/workforce"
	"ac/fleet"
	"ac/runs/session"
	"ac/workspace/doc"
)

// hubMark is part of every planted secret.
const hubMark = "HUBKEEPS"

// plantHub writes every kind of file of a hub's folder, each with its own markers. If damaged, some
// files are invalid, and errors about them must not quote their content.
func (y *yard) plantHub(t *testing.T, damaged bool) {
	t.Helper()
	n := 0
	marker := func() string {
		n++
		return fmt.Sprintf("%s%02dQ9XV7LK3RT5", hubMark, n)
	}
	ref := y.away(t, doc.ReachOK)
	record, err := session.Read(y.c.Workspace(), ref)
	if err != nil {
		t.Fatal(err)
	}
	attempt := fleet.Attempt(y.project, record.RunID, ref, 1)
	order, err := json.Marshal(map[string]any{
		"attempt": attempt, "project_id": y.project, "run_id": record.RunID, "session_ref": ref, "epoch": 1, "worker_id": workerID,
		"state": fleet.AttemptStarted, "instance": marker(), "taken": []string{marker()},
		"launch": map[string]any{"order": map[string]any{"stdin": marker(), "env": map[string]string{"A": marker()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		fleet.ConfigFile: "schema_version: 1\ntype: hub\nhub_id: abcdefghij\ncarrier: nats\nnats: {servers: [\"nats://u:" + marker() + "@h\"], credentials: /srv/" + marker() + "}\n",
		fleet.WorkerFile(workerID): "schema_version: 1\ntype: worker_record\nid: " + workerID + "\nname: box\nrole: worker\nslots: 2\nstate: active\npublic_key: " + marker() + "\ninstance: " + marker() +
			"\ninvite: {public_key: " + marker() + ", expires_at: 2026-01-02T03:04:05.678Z}\ninvited_at: 2026-01-02T03:04:05.678Z\nlast: {seen_at: 2026-01-02T03:04:05.678Z, secrets: [" + marker() + "]}\n",
		fleet.AttemptsDir + "/" + attempt + ".json": string(order),
		fleet.KeyFile:     marker(),
		fleet.CertFile:    marker(),
		fleet.CertKeyFile: marker(),
		fleet.OwnerFile:   `{"boot":"` + marker() + `"}`,
		fleet.CarrierDir + "/jetstream/streams/msgs":      marker(),
		fleet.HubDir + "/feed.json":                       marker(),
		fleet.HubDir + "/" + marker() + "/seed-of-others": marker(),
	}
	if damaged {
		files[fleet.ConfigFile] = "\"" + marker() + "\": " + marker() + "\ntype: " + marker() + "\n"
		files[fleet.WorkerFile(workerID)] = "type: worker_record\nid: [" + marker() + "]\nstate: " + marker() + "\n\"" + marker() + "\": 1\n"
		files[fleet.AttemptsDir+"/"+attempt+".json"] = `{"attempt": 7, "` + marker() + `": "` + marker()
		files[fleet.OwnerFile] = marker()
	}
	for name, text := range files {
		y.keep(t, name, text)
	}
}

// hubFound returns the files below a directory with a marker in their name or content.
func hubFound(t *testing.T, dir string) (names []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		if strings.Contains(name, hubMark) || strings.Contains(string(text), hubMark) {
			names = append(names, name)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files: %v", files, err)
	}
	return names
}

// TestHubKeepsItsSecrets checks that no marker is in diagnostics, share packs, exports, snapshots,
// lists, or the errors about invalid files.
func TestHubKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	for _, damaged := range []bool{false, true} {
		t.Run(fmt.Sprintf("damaged %t", damaged), func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.plantHub(t, damaged)
			y.readHub(t, damaged)
			y.exportHub(t)
		})
	}
}

// readHub calls everything that shows machines, sessions or health.
func (y *yard) readHub(t *testing.T, damaged bool) {
	t.Helper()
	ctx, c, folder := t.Context(), y.c, y.c.Host().In(y.c.Workspace().Dir())
	said := map[string]any{}
	note := func(what string, got any, err error) {
		t.Helper()
		if err != nil && !damaged {
			t.Errorf("%s: %v", what, err)
		}
		said[what] = []any{got, fmt.Sprint(err)}
	}
	status, err := c.HubStatus(ctx, company.Dir{})
	note("hub.status", status, err)
	list, err := c.ListWorkers(ctx, ListWorkersParams{})
	note("worker.list", list, err)
	monitor, err := c.Monitor(ctx, company.MonitorParams{IndexStep: company.IndexStep{SyncIndex: true}, Limit: 100})
	note("monitor.snapshot", monitor, err)
	resources, err := c.Resources(ctx, company.ResourcesParams{})
	note("resources.snapshot", resources, err)
	home, err := workforce.Operations{In: c.In}.HomeSnapshot(ctx, company.Dir{})
	note("workspace.home.snapshot", home, err)
	sessions, err := c.Host().ListSessions(ctx, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.Workspace().Dir()}})
	note("session.list", sessions, err)
	waiting, err := decisions.Operations{In: c.In}.ListNeeds(ctx, decisions.ListNeedsParams{State: "open", Limit: 100})
	note("needs.list", waiting, err)
	out := t.TempDir()
	bundle, err := maintenance.Folder{InFolder: company.InFolder{Folder: folder}}.Diagnostics(ctx, maintenance.DiagnosticsParams{Dir: company.Dir{WorkspaceDir: c.Workspace().Dir()}, OutDir: out, SyncIndex: true, ScreenLimits: company.ScreenLimits{MonitorLimit: 100}})
	note("workspace.diagnostics", bundle, err)
	if found := hubFound(t, out); len(found) > 0 {
		t.Errorf("in diagnostics: %q", found)
	}
	for what, got := range said {
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if at := strings.Index(string(text), hubMark); at >= 0 {
			t.Errorf("%s says %s", what, text[max(0, at-200):min(len(text), at+60)])
		}
	}
}

// exportHub creates everything that leaves the machine: a share pack and exports.
func (y *yard) exportHub(t *testing.T) {
	t.Helper()
	made, err := workforce.Operations{In: y.c.In}.CreateSharePack(t.Context(), workforce.CreateSharePackParams{ProjectID: y.project, CreatedBy: "human"})
	if err != nil || made.SharePackID == "" {
		t.Fatal(err)
	}
	if found := hubFound(t, filepath.Join(y.c.Workspace().Dir(), "work")); len(found) > 0 {
		t.Errorf("in the share pack, or elsewhere in the project: %q", found)
	}
	for _, local := range []bool{false, true} {
		out := filepath.Join(t.TempDir(), "copy")
		folder := provisioning.Folder{InFolder: company.InFolder{Folder: y.c.Folder()}}
		if _, err := folder.Export(t.Context(), provisioning.ExportParams{Dir: company.Dir{WorkspaceDir: y.c.Workspace().Dir()}, OutDir: out, IncludeLocal: local}); err != nil {
			t.Fatal(err)
		}
		if found := hubFound(t, out); len(found) > 0 {
			t.Errorf("exported, local %t: %q", local, found)
		}
	}
}
