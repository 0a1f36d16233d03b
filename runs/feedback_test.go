package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
)

// TestRecordFeedback checks what a run's log records of feedback, and whose feedback is denied.
func TestRecordFeedback(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	env := workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	made := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	project := made(w.NewProject(t.Context(), "P"))
	team := made(w.NewTeam(t.Context(), "Core"))
	agent := made(w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Coder", Role: "worker", Provider: "cmd", TeamID: team}))
	const run = "run_1"
	file := filepath.Join(dir, workspace.RunFile(project, run))
	record := "schema_version: 1\ntype: run\nid: run_1\nproject_id: " + project + "\nagent_id: " + agent +
		"\nprovider: cmd\ncreated_at: 2026-01-02T00:00:00.000Z\nstatus: ended\ncontext_pack_id: ctx_1\nevents_relpath: runs/run_1/events.jsonl\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	by := func(id, role, team, run string) Act {
		return Act{ProjectID: project, RunID: run, Actor: policy.Actor{ID: id, Role: role, Team: team}}
	}
	first, err := RecordFeedback(t.Context(), w, by("human", "human", "", run), "reject", "too long")
	if err != nil {
		t.Fatal(err)
	}
	second, err := RecordFeedback(t.Context(), w, by("agent_b", "worker", team, run), "accept", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := RecordFeedback(t.Context(), w, by("human", "human", "", "run_none"), "accept", ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown run: %v", err)
	}
	if _, err := RecordFeedback(t.Context(), w, by("agent_c", "worker", "team_other", run), "accept", ""); !fault.Is(err, fault.Denied) {
		t.Errorf("a worker of another team: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, workspace.LogFile(project, run)))
	if err != nil {
		t.Fatal(err)
	}
	var ids, kept []string
	for line := range bytes.Lines(text) {
		var e struct {
			ID         string          `json:"event_id"`
			Type       string          `json:"type"`
			Actor      string          `json:"actor"`
			Visibility string          `json:"visibility"`
			Payload    json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == events.FeedbackRecorded {
			ids, kept = append(ids, e.ID), append(kept, e.Actor+" "+e.Visibility+" "+string(e.Payload))
		}
	}
	if !slices.Equal(kept, []string{`human team {"signal":"reject","reason":"too long"}`, `agent_b team {"signal":"accept","reason":null}`}) || !slices.Equal(ids, []string{first, second}) {
		t.Errorf("%q with the ids %q, want %s and %s", kept, ids, first, second)
	}
}
