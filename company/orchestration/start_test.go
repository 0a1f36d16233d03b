package orchestration

import (
	"path/filepath"
	"strings"
	"testing"

	"ac/company"
	"ac/runs"
	"ac/runs/lane"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestProgramWarnings checks the warnings at a start: a program version other than the last run's,
// and a provider in cooldown. Without either, there is no warning.
func TestProgramWarnings(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	env := workspace.SystemEnv()
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	all := company.New(company.Options{Env: env})
	t.Cleanup(func() { _ = all.Close() })
	c, err := all.In(dir).Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	project, err := c.Workspace().NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	made, err := runs.Create(t.Context(), c.Workspace(), project, "agent_a", "codex")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Workspace().Update(t.Context(), func(u *workspace.Unit) error {
		file := workspace.RunFile(project, made.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		run.ProgramVersion = "0.45.0"
		if err != nil {
			return err
		}
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	}); err != nil {
		t.Fatal(err)
	}
	rows := []company.RunRow{{RunID: "run_none", Provider: "claude"}, {RunID: made.RunID, Provider: "codex"}}
	warned := func(version string) string {
		return strings.Join(Operations{company.In{Company: c}}.programWarnings(project, &runs.Plan{Provider: "codex", Program: "/bin/codex", Version: version}, rows), "; ")
	}
	for version, want := range map[string]string{"": "", "0.45.0": "", "0.46.0": "codex is version 0.46.0; the last run had 0.45.0"} {
		if got := warned(version); got != want {
			t.Errorf("with version %q: %q, want %q", version, got, want)
		}
	}
	if err := all.Admission(c.Workspace()).Lane.Cool(t.Context(), "codex", lane.RateLimit); err != nil {
		t.Fatal(err)
	}
	if got := warned(""); !strings.HasPrefix(got, "codex is in cooldown for ") {
		t.Errorf("in cooldown: %q", got)
	}
}
