package orchestration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/fleet"
	"ac/fleet/fleettest"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

const workerID = "wkr_01ARZ3NDEKTSV4RRFFQ69G5FAV"

// keep writes a file of the workspace with private permissions.
func (y *yard) keep(t *testing.T, name, text string) {
	t.Helper()
	err := durable.MkdirAll(y.c.Workspace().FS, filepath.ToSlash(filepath.Dir(name)), 0o700)
	if err == nil {
		err = y.c.Workspace().Replace(name, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// joined writes the records of a hub and one worker.
func (y *yard) joined(t *testing.T) {
	t.Helper()
	y.keep(t, fleet.ConfigFile, "schema_version: 1\ntype: hub\nhub_id: abcdefghij\ncarrier: embedded\n")
	y.keep(t, fleet.WorkerFile(workerID), "schema_version: 1\ntype: worker_record\nid: "+workerID+"\nname: box\nrole: worker\nslots: 2\nstate: active\ninvited_at: 2026-01-02T03:04:05.678Z\n")
}

// away creates a run with a session and an attempt on the worker, and returns the session's ref.
func (y *yard) away(t *testing.T, reach string) string {
	t.Helper()
	made, err := runs.Create(t.Context(), y.c.Workspace(), y.project, y.agent, "cmd")
	if err != nil {
		t.Fatal(err)
	}
	ref, self := session.LocalRef(made.RunID), proc.Self()
	text, err := doc.SessionCodec.Encode(doc.Session{
		SchemaVersion: doc.Version, Type: "session_record", Ref: ref, WorkspaceDir: y.c.Workspace().Dir(), ProjectID: y.project, RunID: made.RunID,
		Status: doc.StatusRunning, Mode: doc.KindCommand, StartedAtMS: time.Now().UnixMilli(), OwnerPID: &self.PID, OwnerStart: "long ago",
		Socket: "0123456789abcdef", WorkerID: workerID, Epoch: 1, Reach: reach,
	})
	if err != nil {
		t.Fatal(err)
	}
	y.keep(t, workspace.SessionFile(ref), string(text))
	name := fleet.Attempt(y.project, made.RunID, ref, 1)
	if err := durable.MkdirAll(y.c.Workspace().FS, fleet.AttemptsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	err = fleet.WriteAttempt(y.c.Workspace(), fleet.AttemptRecord{
		Attempt: name, ProjectID: y.project, RunID: made.RunID, SessionRef: ref, Epoch: 1, WorkerID: workerID, State: fleet.AttemptStarted,
	})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func as(role string) company.PersonParams {
	return company.PersonParams{ActorID: "somebody", ActorRole: role}
}

// TestOneWordWithoutAHub checks requests that need a running hub. Without one, or if it ends during
// the request, all fail with the same reason and words.
func TestOneWordWithoutAHub(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.joined(t)
	ref := y.away(t, doc.ReachOK)
	told := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.HubNotRunning) || !strings.HasPrefix(err.Error(), session.HubNotRunningNote) {
			t.Errorf("%s: %v", what, err)
		}
	}
	box := workerParams{PersonParams: as("human"), WorkerID: "box"}
	everything := func() {
		t.Helper()
		_, err := y.c.InviteWorker(t.Context(), InviteWorkerParams{PersonParams: as("human"), Name: "other"})
		told("invite", err)
		_, err = y.c.UpdateWorker(t.Context(), UpdateWorkerParams{workerParams: box, Slots: 2})
		told("update", err)
		_, err = y.c.DrainWorker(t.Context(), DrainWorkerParams{workerParams: box, On: true})
		told("drain", err)
		_, err = y.c.RevokeWorker(t.Context(), RevokeWorkerParams{workerParams: box})
		told("revoke", err)
		_, err = y.c.StartRun(t.Context(), y.start(&doc.Placement{Where: doc.WhereRemote}, nil))
		told("start", err)
	}
	everything()
	_, err := session.Stop(t.Context(), y.c.Workspace(), ref)
	told("stop", err)
	if record, err := session.Current(t.Context(), y.c.Workspace(), ref); err != nil || record.Error != session.HubNotRunningNote {
		t.Errorf("the session says %q: %v", record.Error, err)
	}
	fleettest.Start(t, y.c.Workspace(), func(string, json.RawMessage) (any, error) {
		runtime.Goexit() // ends without an answer
		return nil, nil
	})
	everything()
}

// TestMachinesWithoutAHub checks that read-only requests work without a hub. Requests that need one
// name the command that starts it, and the hub's folder is not created.
func TestMachinesWithoutAHub(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	status, err := y.c.HubStatus(t.Context(), company.Dir{})
	if err != nil || status.Running || status.Listen == nil {
		t.Errorf("%+v: %v", status, err)
	}
	if list, err := y.c.ListWorkers(t.Context(), ListWorkersParams{}); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%v: %v", list, err)
	}
	_, err = y.c.InviteWorker(t.Context(), InviteWorkerParams{PersonParams: as("human"), Name: "box"})
	if !fault.Is(err, fault.HubNotRunning) || !strings.Contains(err.Error(), "ac hub:start") {
		t.Errorf("invite: %v", err)
	}
	if _, err = y.c.ConfigureHub(t.Context(), HubConfigParams{PersonParams: as("human")}); !fault.Is(err, fault.HubNotRunning) {
		t.Errorf("config: %v", err)
	}
	if y.c.Workspace().Exists(fleet.HubDir) {
		t.Error("the folder of the hub was made")
	}
	y.joined(t)
	ref := y.away(t, doc.ReachOK)
	if status, err = y.c.HubStatus(t.Context(), company.Dir{}); err != nil || status.HubID != "abcdefghij" || status.Workers.Offline != 1 || status.Attempts.Live != 1 {
		t.Errorf("%+v: %v", status, err)
	}
	list, err := y.c.ListWorkers(t.Context(), ListWorkersParams{State: "active"})
	if err != nil || len(list) != 1 || list[0].Name != "box" || list[0].Online || len(list[0].Attempts) != 1 || list[0].Attempts[0].SessionRef != ref {
		t.Errorf("%+v: %v", list, err)
	}
	settings, err := y.c.ConfigureHub(t.Context(), HubConfigParams{PersonParams: as("ceo"), Settings: fleet.Settings{BeatMS: 1000}})
	if err != nil || settings.BeatMS != 1000 || settings.LeaseS != 3600 {
		t.Errorf("%+v: %v", settings, err)
	}
	if _, err := y.c.ConfigureHub(t.Context(), HubConfigParams{PersonParams: as("ceo"), Settings: fleet.Settings{BeatMS: 60000}}); !fault.Is(err, fault.InvalidParams) {
		t.Errorf("settings that do not go together: %v", err)
	}
	rows, err := y.c.Host().ListSessions(t.Context(), company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: y.c.Workspace().Dir()}})
	if err != nil || len(rows) != 1 || rows[0].WorkerName != "box" || rows[0].Reach != doc.ReachOK || !strings.Contains(rows[0].Error, "ac hub:start") {
		t.Errorf("%+v: %v", rows, err)
	}
}

// TestMachinesRoles checks that only a human or a CEO may change machines, and that every denial is
// in the audit log.
func TestMachinesRoles(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	hub := fleettest.Start(t, y.c.Workspace(), func(verb string, params json.RawMessage) (any, error) {
		switch verb {
		case fleet.HubInvite:
			return fleet.InviteResult{WorkerID: workerID, Token: "acw1_secret"}, nil
		case fleet.HubRevoke:
			var p fleet.RevokeRequest
			if err := json.Unmarshal(params, &p); err != nil || p.By == "" {
				return nil, fmt.Errorf("nobody revokes the worker: %s", params)
			}
		}
		return struct{}{}, nil
	})
	named := func(role string) workerParams { return workerParams{PersonParams: as(role), WorkerID: "box"} }
	acts := map[string]func(role string) error{
		fleet.HubInvite: func(role string) error {
			_, err := y.c.InviteWorker(t.Context(), InviteWorkerParams{PersonParams: as(role), Name: "box"})
			return err
		},
		fleet.HubUpdate: func(role string) error {
			_, err := y.c.UpdateWorker(t.Context(), UpdateWorkerParams{workerParams: named(role), Slots: 3})
			return err
		},
		fleet.HubDrain: func(role string) error {
			_, err := y.c.DrainWorker(t.Context(), DrainWorkerParams{workerParams: named(role), On: true})
			return err
		},
		fleet.HubRevoke: func(role string) error {
			_, err := y.c.RevokeWorker(t.Context(), RevokeWorkerParams{workerParams: named(role)})
			return err
		},
		fleet.HubConfig: func(role string) error {
			_, err := y.c.ConfigureHub(t.Context(), HubConfigParams{PersonParams: as(role)})
			return err
		},
	}
	for verb, act := range acts {
		for _, role := range []string{"worker", "manager", "director"} {
			if err := act(role); !fault.Is(err, fault.Denied) {
				t.Errorf("%s by a %s: %v", verb, role, err)
			}
		}
		for _, role := range []string{"human", "ceo"} {
			if err := act(role); err != nil {
				t.Errorf("%s by a %s: %v", verb, role, err)
			}
		}
	}
	hub.Close()
	if len(hub.Asked) != 2*len(acts) {
		t.Errorf("the hub was asked %d times", len(hub.Asked))
	}
	text, err := os.ReadFile(filepath.Join(y.c.Workspace().Dir(), filepath.FromSlash(workspace.AuditLog)))
	if err != nil {
		t.Fatal(err)
	}
	if denied := strings.Count(string(text), `"policy.denied"`); denied != 3*len(acts) || strings.Contains(string(text), "acw1_") {
		t.Errorf("%d refusals are in the audit log, or a token", denied)
	}
}

// TestAbandon checks that somebody above a worker can abandon a session whose hub is gone: the run
// fails and the attempt is fenced.
func TestAbandon(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	y.joined(t)
	ref := y.away(t, doc.ReachOK)
	p := AbandonParams{SessionRef: ref, Reason: "the box burnt", PersonParams: as("worker")}
	if _, err := y.c.AbandonSession(t.Context(), p); !fault.Is(err, fault.Denied) {
		t.Errorf("by a worker: %v", err)
	}
	hub := fleettest.Start(t, y.c.Workspace(), fleettest.Nothing)
	p.PersonParams = as("manager")
	if _, err := y.c.AbandonSession(t.Context(), p); !fault.Is(err, fault.Conflict) {
		t.Errorf("one that is reached: %v", err)
	}
	hub.Close()
	told, err := y.c.AbandonSession(t.Context(), p)
	if err != nil || told.Status != doc.StatusFailed || told.Reach != doc.ReachLost || !strings.Contains(told.Error, "the box burnt") {
		t.Errorf("%+v: %v", told, err)
	}
	run, err := runs.Load(y.c.Workspace(), y.project, told.RunID)
	if err != nil || run.Status != doc.StatusFailed {
		t.Errorf("%s: %v", run.Status, err)
	}
	attempt, err := fleet.ReadAttempt(y.c.Workspace().FS, fleet.Attempt(y.project, told.RunID, ref, 1))
	if err != nil || attempt.State != fleet.AttemptFenced {
		t.Errorf("%s: %v", attempt.State, err)
	}
	text, err := os.ReadFile(filepath.Join(y.c.Workspace().Dir(), filepath.FromSlash(workspace.LogFile(y.project, told.RunID))))
	log := string(text)
	if err != nil || strings.Count(log, `"type":"worker.fenced"`) != 1 || !strings.Contains(log, `"reason":"worker_lost"`) || strings.Count(log, `"type":"run.failed"`) != 1 {
		t.Errorf("%s: %v", log, err)
	}
	if _, err := y.c.AbandonSession(t.Context(), p); !fault.Is(err, fault.Conflict) {
		t.Errorf("once more: %v", err)
	}
}
