package heartbeat

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/heartbeat/job"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

func newWorkspace(t *testing.T) *workspace.Workspace {
	t.Helper()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	return w
}

// TestBrokenConfig checks that a broken config keeps its valid settings but never enables the
// heartbeat.
func TestBrokenConfig(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	if config, err := Config(w); err != nil || config != doc.DefaultHeartbeatConfig() {
		t.Errorf("%+v, %v", config, err)
	}
	for text, days := range map[string]int{
		"idempotency_ttl_days: 3\n":                          3,
		"idempotency_ttl_days: 3\ntop_k_workers: 0\n":        3,
		"idempotency_ttl_days: 3\nmore: 1\nenabled: maybe\n": 3,
		"idempotency_ttl_days: 0\nenabled: true\n":           14,
		"idempotency_ttl_days: [\n":                          14,
		"- a\n":                                              14,
		"idempotency_ttl_days: 3\nidempotency_ttl_days: 4\n": 14,
	} {
		if err := w.Replace(workspace.HeartbeatConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := Config(w)
		sound := text == "idempotency_ttl_days: 3\n"
		if config.IdempotencyTTLDays != days || config.Enabled != sound || (err == nil) != sound {
			t.Errorf("%q: %+v, %v", text, config, err)
		}
	}
}

// TestBrokenState checks that an invalid state file is quarantined when the unit commits.
func TestBrokenState(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	if err := w.Replace(workspace.HeartbeatStateFile, []byte("more: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := w.Update(t.Context(), func(u *workspace.Unit) error {
		state, err := State(u)
		if err != nil || WasExecuted(state, "k") {
			t.Errorf("%+v, %v", state, err)
		}
		Remember(&state, doc.ActionBody{IdempotencyKey: "k", Kind: doc.ActionNoop}, w.Env.Clock.Now(), 1)
		return PutState(u, state)
	})
	if err != nil {
		t.Fatal(err)
	}
	aside, err := filepath.Glob(filepath.Join(w.Dir(), filepath.FromSlash(workspace.HeartbeatStateFile)+".broken-*"))
	if err != nil || len(aside) != 1 {
		t.Errorf("%v, %v", aside, err)
	}
	err = w.Update(t.Context(), func(u *workspace.Unit) error {
		state, err := State(u)
		if !WasExecuted(state, "k") {
			t.Error("it is not remembered")
		}
		Forget(&state, w.Env.Clock.Now().AddDate(0, 0, 2))
		if WasExecuted(state, "k") {
			t.Error("it is remembered after it expired")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestExpiry checks that a day of the expiry has 24 hours, whatever the local time zone does.
func TestExpiry(t *testing.T) {
	t.Parallel()
	place, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	state := doc.EmptyHeartbeatState()
	Remember(&state, doc.ActionBody{IdempotencyKey: "k", Kind: doc.ActionNoop}, time.Date(2026, 10, 25, 12, 0, 0, 0, place), 14)
	if got := state.Idempotency["k"].ExpiresAt; got != "2026-11-08T16:00:00.000Z" {
		t.Error(got)
	}
}

// TestLaunch checks that launching an action adds its job in a unit without starting it.
func TestLaunch(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	project, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	launcher := Launcher{Starter: &job.Starter{}}
	action := doc.ActionBody{IdempotencyKey: "k", Kind: doc.ActionLaunchJob, ProjectID: project, Goal: "g"}
	id := ""
	err = w.Update(t.Context(), func(u *workspace.Unit) (err error) {
		id, _, err = launcher.Launch(u, action)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Read(workspace.ProjectDir(project) + "/jobs/" + id + "/job.yaml")
	for _, want := range []string{"status: queued", "worker_kind: codex", "permission_level: read-only", "- Follow-up action", "action k."} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s is missing: %v\n%s", want, err, text)
		}
	}
	action.WorkerAgentID = "agent_none"
	err = w.Update(t.Context(), func(u *workspace.Unit) (err error) {
		_, _, err = launcher.Launch(u, action)
		return err
	})
	if !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
