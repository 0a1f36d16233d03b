package learning

// Fixture: a company whose agents run improvement cycles.

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"ac/governance"
	"ac/governance/policy"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
	"ac/workspace/workspacetest"
)

// patience is the timeout of every wait. It is generous for busy machines.
const patience = 60 * time.Second

// company is a workspace with a project, a manager and a worker.
type company struct {
	*workspace.Workspace

	project, manager, worker string
}

func newCompany(t testing.TB) *company {
	t.Helper()
	ctx := t.Context()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	c := &company{Workspace: w}
	must := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	c.project = must(w.NewProject(ctx, "Apollo"))
	c.manager = must(w.NewAgent(ctx, workspace.AgentSpec{Name: "Mia", Role: "manager", Provider: "codex"}))
	c.worker = must(w.NewAgent(ctx, workspace.AgentSpec{Name: "Wim", Role: "worker", Provider: "codex"}))
	return c
}

// improvement returns a cycle that evaluates on the first mistake.
func (c *company) improvement(key string, argv ...string) Improvement {
	return Improvement{
		Mistake: Mistake{
			Worker: c.worker, Manager: policy.Actor{ID: c.manager, Role: "manager"}, Key: key,
			Summary: "S", PreventionRule: "Rule of " + key, ProjectID: c.project,
		},
		ProposalThreshold: 1, Argv: argv,
	}
}

func (c *company) improve(t *testing.T, want Improvement) CycleResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := Improve(ctx, c.Workspace, conductor(), want)
	if err != nil {
		t.Fatalf("%s: %v", want.Key, err)
	}
	return got
}

// sound checks what every cycle must leave: finished runs, logs that verify, and valid documents.
func (c *company) sound(t *testing.T) {
	t.Helper()
	for _, issue := range validate.Folder(c.Env, c.Dir()).Issues {
		t.Errorf("%+v", issue)
	}
	listed, err := runs.List(c.Workspace, c.project)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range listed {
		if run.Status == doc.StatusRunning {
			t.Errorf("run %s is still running", run.RunID)
		}
		report, err := runs.VerifyLog(c.Workspace, c.project, run.RunID)
		if err != nil || len(report.VerificationIssues)+len(report.RecordIssues)+len(report.ParseIssues) > 0 {
			t.Errorf("the log of %s: %+v (%v)", run.RunID, report, err)
		}
	}
}

// artifacts counts the artifacts of the project by their type.
func (c *company) artifacts(t *testing.T) map[string]int {
	t.Helper()
	names, err := workspace.Files(c.FS, workspace.ArtifactsDir(c.project), ".md")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range names {
		record, err := governance.ReadArtifact(c, c.project, strings.TrimSuffix(name, ".md"))
		if err != nil {
			t.Fatal(err)
		}
		count[record.String("type")]++
	}
	return count
}

// await waits until a file exists.
func await(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not appear", name)
		}
	}
}
