package company

// Executing a run in this process, which only commands do.

import (
	"context"
	"errors"
	"os"
	"unicode/utf8"

	"ac/internal/fault"
	"ac/internal/shape"
	"ac/runs"
	"ac/runs/session"
)

// ExecuteParams are what run:execute is asked for.
type ExecuteParams struct {
	WorkspaceDir string
	ProjectID    string
	RunID        string
	Argv         []string
	RepoID       string
	WorkdirRel   string
	TaskID       string
	MilestoneID  string
	Stdin        *string
}

// check refuses what could not be executed, as the params of session.launch are
// checked.
func (p *ExecuteParams) check() error {
	launch := LaunchParams{
		ProjectID: p.ProjectID, RunID: p.RunID, Argv: p.Argv, WorkdirRel: p.WorkdirRel, TaskID: p.TaskID, MilestoneID: p.MilestoneID,
	}
	issues := launch.CheckFields()
	for i, word := range p.Argv {
		if word == "" {
			issues = append(issues, fault.Issue{Path: []any{"argv", i}, Code: "custom", Message: "must not be empty"})
		}
		if !utf8.ValidString(word) { // neither record nor event could hold it
			issues = append(issues, fault.Issue{Path: []any{"argv", i}, Code: "custom", Message: "must be valid UTF-8"})
		}
	}
	for _, id := range []struct {
		field, value string
		optional     bool
	}{{"project_id", p.ProjectID, false}, {"run_id", p.RunID, false}, {"task_id", p.TaskID, true}, {"milestone_id", p.MilestoneID, true}} {
		if why := shape.CheckID(id.value); why != "" && (id.value != "" || !id.optional) {
			issues = append(issues, fault.Issue{Path: []any{id.field}, Code: "custom", Message: why})
		}
	}
	if len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}

// Executed is how the command ended.
type Executed struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
}

// Execute executes a run in this process and follows it to its end. Closing
// interrupt stops it.
func (c *Company) Execute(ctx context.Context, p ExecuteParams, interrupt <-chan struct{}) (Executed, error) {
	if err := p.check(); err != nil {
		return Executed{}, err
	}
	w, err := c.workspace(ctx)
	if err != nil {
		return Executed{}, err
	}
	ref := session.LocalRef(p.RunID)
	run, err := runs.Launchable(ctx, w, p.ProjectID, p.RunID, ref)
	if err != nil {
		return Executed{}, err
	}
	record, err := session.Supervise(ctx, w, session.Host{Executable: c.all.launcher.Executable, Interrupt: interrupt}, session.Order{
		Version: session.OrderVersion, WorkspaceDir: w.Dir(), ProjectID: p.ProjectID, RunID: p.RunID, SessionRef: ref,
		AgentID: run.AgentID, Provider: run.Provider, Argv: p.Argv, RepoID: p.RepoID, WorkdirRel: p.WorkdirRel,
		TaskID: p.TaskID, MilestoneID: p.MilestoneID, Stdin: p.Stdin, Environ: os.Environ(),
	})
	if err == nil && record.ExitCode == nil && record.Signal == nil {
		err = errors.New(record.Error)
	}
	return Executed{record.ExitCode, record.Signal}, err
}
