package workflow_test

// Input that clients give besides a template.

import (
	"slices"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/heartbeat/workflow"
	"ac/workspace/doc"
)

// TestBeforehand checks that the first task receives what was said before its run, that notices
// are in the log of their round, and that a continuation may move a run.
func TestBeforehand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.repository()
	task := `{kind: task, agent: {agent_id: ` + s.agent + `}, goal: say it}`
	record := s.start(task, func(start *workflow.Start) {
		start.Said, start.Notices = []string{"first words", "then these"}, []string{"one thing is not used"}
	})
	record = s.looked(record.RunID, "it is over", over)
	for _, said := range record.Steer {
		if said.UsedBy != record.Steps[0].Step {
			t.Errorf("%+v", said)
		}
	}
	types := s.events(record.RunID)
	began := slices.Index(types, "workflow.started")
	if got := strings.Join(types[began-2:began+2], " "); got != "run.steer_queued run.steer_queued workflow.started workflow.notice" {
		t.Errorf("%v", types)
	}
	_, err := s.flows.Continue(t.Context(), workflow.ContinueRequest{
		ProjectID: s.project, RunID: record.RunID, Notices: []string{"again"}, Actor: policy.Actor{ID: "human", Role: "human"},
		Place: &doc.JobPlace{RepoID: "main", Isolation: doc.IsolationNone}, Moves: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	record = s.looked(record.RunID, "it is over again", func(r doc.WorkflowRun) bool { return r.Over() && len(r.Rounds) == 2 })
	if record.Place == nil || record.Place.RepoID != "main" {
		t.Errorf("%+v", record.Place)
	}
	types = s.events(record.RunID)
	if at := slices.Index(types, "workflow.round"); at < 0 || types[at+1] != "workflow.notice" {
		t.Errorf("%v", types)
	}
}
