package autonoma

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
)

// TestTask follows a task: its agent, its answer before its first event, its phases in order, its
// end, and its artifacts.
func TestTask(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c, other := s.dial(), s.dial()
	other.do("agents.list", object{}, nil)
	var agents []agent
	c.do("agents.list", []any{}, &agents)
	if len(agents) == 0 || !slices.Contains(agents, agent{s.agent, "Coder", "worker (cmd)", "available"}) {
		t.Fatalf("agents: %+v", agents)
	}
	dialecttest.Write(t, filepath.Join(s.Repo, "src/unsaved.py"), "mine\n")
	c.Send(`{"id":"req_2","method":"agents.invoke","params":{"agentType":"coder","task":"write notes.md","context":{"file":"src/x.py"}}}`)
	id, seen := "", []phaseUpdate{}
	for f := range c.In {
		switch {
		case string(f.ID) == `"req_2"`:
			var made executionStarted
			if err := json.Unmarshal(f.Result, &made); err != nil || made.ExecutionID == "" || len(seen) > 0 {
				t.Fatalf("%s after %d phases", f.raw, len(seen))
			}
			id = made.ExecutionID
			continue
		case f.Type == "phase.update":
			var u phaseUpdate
			if err := json.Unmarshal(f.Data, &u); err != nil || u.ExecutionID != id {
				t.Errorf("%s of %s", f.raw, id)
			}
			seen = append(seen, u)
			continue
		case f.Type != "execution.complete":
			continue
		}
		var r executionResult
		if err := json.Unmarshal(f.Data, &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != "success" || r.Progress != 100 || r.Text != "wrote notes.md" || len(r.Artifacts) != 1 || r.Artifacts[0].Content != "written\n" || r.Artifacts[0].Type != "doc" {
			t.Errorf("%s", f.raw)
		}
		if !strings.Contains(f.raw, `"artifacts":[{"id":"fa_`) {
			t.Errorf("the id does not stand first: %s", f.raw)
		}
		break
	}
	if len(seen) < phaseCount || seen[0] != (phaseUpdate{id, "research", "running", seen[0].Progress}) {
		t.Errorf("phases: %+v", seen)
	}
	last := map[string]phaseUpdate{}
	for _, u := range seen {
		if before := last[u.Phase]; before.Progress > u.Progress || before.Status == "completed" {
			t.Errorf("%+v after %+v", u, before)
		}
		last[u.Phase] = u
	}
	for _, name := range phaseNames() {
		if last[name].Status != "completed" || last[name].Progress != 100 {
			t.Errorf("%s ended as %+v", name, last[name])
		}
	}
	// Another client is notified of the task, but of none of its phases.
	other.Await("the task is over", func(f frame) bool {
		if f.Type == "phase.update" || f.Type == "execution.complete" {
			t.Errorf("%s to a client that follows nothing", f.raw)
		}
		return f.Type == "task.update" && strings.Contains(f.raw, `"taskId":"`+id+`","status":"completed","progress":100`)
	})
	if _, err := os.Stat(filepath.Join(s.Repo, "notes.md")); err == nil {
		t.Error("the repository was written to")
	}
	var rows []backgroundTask
	c.do("background.list", nil, &rows)
	if len(rows) != 1 || rows[0].ID != id || rows[0].Status != "completed" || rows[0].Progress != 100 || rows[0].AgentType != s.agent || rows[0].CompletedAt == "" {
		t.Errorf("tasks: %+v", rows)
	}
	var text string
	f := c.do("background.output", object{"taskId": id}, &text)
	if !strings.HasPrefix(text, "== attempt 1: "+s.agent+", cmd, run_") || !strings.HasSuffix(text, "== answer\nwrote notes.md\n") || len(f.LogID) != 36 {
		t.Errorf("output %q, log %s", text, f.LogID)
	}
	c.do("feedback.submit", object{"conversation_log_id": f.LogID, "signal": "reject", "reason": "no"}, nil)
}
