package pipeline_test

// Fixture: a company whose agents fill artifacts.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/governance"
	"ac/governance/pipeline"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
	"ac/workspace/workspacetest"
)

// patience is the timeout of every wait. It is generous for busy machines.
const patience = 60 * time.Second

// company is a workspace whose agents use the fake CLIs of this test.
type company struct {
	*workspace.Workspace

	t                     *testing.T
	project               string
	codex, claude, gem    string // agents
	director, unreachable string
}

func newCompany(t *testing.T) *company {
	t.Helper()
	env := workspace.SystemEnv()
	env.LockPatience = patience
	w := workspacetest.New(t, env)
	c := &company{Workspace: w, t: t}
	must := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	team := must(w.NewTeam(t.Context(), "Web"))
	c.project = must(w.NewProject(t.Context(), "P"))
	agent := func(name, role, provider string) string {
		return must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: name, Role: role, Provider: provider, TeamID: team}))
	}
	c.codex, c.claude, c.gem = agent("Co", "ceo", "codex"), agent("Cla", "manager", "claude"), agent("Ge", "manager", "gemini")
	c.director, c.unreachable = agent("Di", "director", "claude_code"), agent("No", "worker", "cmd")
	err := w.UpdateMachine(t.Context(), func(m *doc.Machine) {
		for _, name := range []string{"codex", "claude", "gemini"} {
			m.ProviderBins[name] = filepath.Join(os.Getenv(binDir), name)
		}
		m.Pricing = map[string]doc.RateCard{"gemini": {Input: 1, Output: 2}}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *company) conductor() runs.Conductor {
	executable, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	return runs.Conductor{Launcher: &session.Launcher{Executable: executable, Environ: append(os.Environ(), "MY_API_KEY=hush-hush-hush")}}
}

// artifact creates an artifact from its template, ready to be filled.
func (c *company) artifact(kind string) (id, name string) {
	c.t.Helper()
	head := governance.ArtifactSpec{Type: kind, Title: `T: "it's" é`, Visibility: "managers"}.Head(c.Env)
	text, err := governance.Template(head)
	if err != nil {
		c.t.Fatal(err)
	}
	name = governance.ArtifactFile(c.project, head.ID)
	if err := c.Replace(name, text, 0o644); err != nil {
		c.t.Fatal(err)
	}
	return head.ID, name
}

func (c *company) fill(spec pipeline.FillSpec) (pipeline.FillResult, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	spec.ProjectID = c.project
	return pipeline.Fill(ctx, c.Workspace, c.conductor(), spec)
}

// sound checks what every pipeline must leave: finished runs, logs that verify, and valid
// documents.
func (c *company) sound() {
	c.t.Helper()
	for _, issue := range validate.Folder(c.Env, c.Dir()).Issues {
		c.t.Errorf("%+v", issue)
	}
	listed, err := runs.List(c.Workspace, "")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, run := range listed {
		if run.Status == doc.StatusRunning {
			c.t.Errorf("run %s is still running", run.RunID)
		}
		report, err := runs.VerifyLog(c.Workspace, run.ProjectID, run.RunID)
		if err != nil || len(report.VerificationIssues)+len(report.RecordIssues)+len(report.ParseIssues) > 0 {
			c.t.Errorf("the log of %s: %+v (%v)", run.RunID, report, err)
		}
	}
}

// types returns the event types of a run.
func (c *company) types(run string) (types []string) {
	c.t.Helper()
	text, err := c.Read(workspace.LogFile(c.project, run))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		types = append(types, events.Type([]byte(line)))
	}
	return types
}
