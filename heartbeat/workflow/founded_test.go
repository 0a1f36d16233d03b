package workflow_test

// The workflows of a new company.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/heartbeat/workflow"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/founding"
	"ac/workspace/validate"
)

// found creates a company in the stage's workspace. The test binary plays all of its agents.
func (s *stage) found(plan founding.Plan) founding.Company {
	s.t.Helper()
	made := must(plan.Bootstrap(s.t.Context(), s.w))
	s.project = made.ProjectID
	launcher := ""
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(s.w.Dir(), workspace.AgentFile(s.agent)))))) {
		if strings.HasPrefix(line, "launcher:") {
			launcher = line
		}
	}
	ids := []string{made.Leaders.Director}
	for _, d := range made.Departments {
		ids = append(ids, d.ManagerAgentID, d.WorkerAgentID)
	}
	for _, id := range slices.DeleteFunc(ids, func(id string) bool { return id == "" }) {
		file := filepath.Join(s.w.Dir(), workspace.AgentFile(id))
		text := strings.Replace(string(must(os.ReadFile(file))), "launcher: {}\n", launcher, 1)
		for _, provider := range []string{doc.ProviderCodex, doc.ProviderClaudeCode} {
			text = strings.Replace(text, "provider: "+provider+"\n", "provider: cmd\n", 1)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	return made
}

// TestWorkflowsOfANewCompany validates the three templates of a new company, with and without a
// director, and runs each to its end.
func TestWorkflowsOfANewCompany(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]founding.Plan{
		"all departments": {CompanyName: "Acme", ProjectName: "P", Departments: founding.Departments()},
		"no director":     {CompanyName: "Acme", ProjectName: "P", Departments: founding.Departments()[:2], NoCEO: true, NoDirector: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.found(plan)
			left := validate.Folder(s.w.Env, s.w.Dir())
			if len(left.Issues)+len(left.Warnings) > 0 {
				t.Errorf("validate: %+v", left)
			}
			found, problems, err := workflow.List(s.w, "work")
			if err != nil || len(problems) > 0 || len(found) != 3 {
				t.Fatalf("%d templates, %v (%v)", len(found), problems, err)
			}
			want := map[string]struct {
				text  string
				steps int
			}{
				"work:draft-and-check": {"second draft", 4},
				"work:plan-and-do":     {"all done", 4},
				"work:several-views":   {map[bool]string{true: "7 views", false: "2 views"}[!plan.NoDirector], 2 + len(plan.Departments)},
			}
			for _, f := range found {
				s.runs(f, want[f.ID].text, want[f.ID].steps)
			}
		})
	}
}

// runs runs a company's template, answers its question, and checks the outcome.
func (s *stage) runs(f workflow.StoredTemplate, text string, steps int) {
	s.t.Helper()
	for _, choice := range must(s.flows.Choices(&f.WorkflowTemplate)) {
		if !choice.Available {
			s.t.Errorf("%s: no worker for %+v", f.ID, choice)
		}
	}
	record := must(s.flows.Run(s.t.Context(), workflow.Start{
		ProjectID: s.project, WorkflowID: f.ID, Template: f.Whole, Priority: "normal", Inputs: map[string]string{"topic": "tea"}, Actor: policy.Actor{ID: "human", Role: "human"},
	}))
	if record.Status == doc.FlowWaitingInput {
		answer := interaction.Answer{Text: new("Tea?"), By: "human", ByRole: "human"}
		if _, _, err := s.flows.Answer(s.t.Context(), s.project, record.RunID, record.Steps[0].InteractionID, answer); err != nil {
			s.t.Fatal(err)
		}
	}
	record = s.written(record.RunID, "it is over", over)
	if record.Status != doc.FlowSucceeded || record.Text != text || len(record.Steps) != steps {
		s.t.Errorf("%s: %s with %q after %d steps: %+v", f.ID, record.Status, record.Text, len(record.Steps), record.Error)
	}
	s.once(record)
}
