package orchestration

// Executing a run in this process. Only commands do this.

import (
	"context"
	"errors"
	"os"
	"unicode/utf8"

	"ac/company"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/session/supervisor"
)

// ExecuteParams are the params of the command run:execute.
type ExecuteParams struct {
	company.Dir
	ProjectID   string   `json:"project_id" is:"id"`
	RunID       string   `json:"run_id" is:"id"`
	TaskID      string   `json:"task_id" is:"optional,id"`
	MilestoneID string   `json:"milestone_id" is:"optional,id"`
	WorkdirRel  string   `json:"workdir_rel" is:"optional,path"`
	RepoID      string   `json:"repo_id" is:"optional"`
	Argv        []string `json:"-"` // byte for byte
	Stdin       *string  `json:"-"`
	// Interrupt stops the run when the channel is closed.
	Interrupt <-chan struct{} `json:"-"`
}

// CheckFields rejects what cannot be executed, by the rules of session.launch.
func (p *ExecuteParams) CheckFields() []fault.Issue {
	work := workParams{Argv: p.Argv, WorkdirRel: p.WorkdirRel, TaskID: p.TaskID, MilestoneID: p.MilestoneID}
	issues := work.check()
	for i, word := range p.Argv {
		if word == "" {
			issues = append(issues, fault.Issue{Path: []any{"argv", i}, Code: "custom", Message: "must not be empty"})
		}
		if !utf8.ValidString(word) { // neither a record nor an event could represent it
			issues = append(issues, fault.Issue{Path: []any{"argv", i}, Code: "custom", Message: "must be valid UTF-8"})
		}
	}
	return issues
}

// ExecuteResult is the exit status of the command.
type ExecuteResult struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
}

// Execute executes a run in this process and returns when it has ended.
func (c Operations) Execute(ctx context.Context, p ExecuteParams) (ExecuteResult, error) {
	w := c.Workspace()
	ref := session.LocalRef(p.RunID)
	run, err := runs.Launchable(ctx, w, p.ProjectID, p.RunID, ref)
	if err != nil {
		return ExecuteResult{}, err
	}
	record, err := supervisor.Supervise(ctx, w, supervisor.Host{Executable: c.Host().Launcher().Executable, Interrupt: p.Interrupt}, session.Order{
		Version: session.OrderVersion, WorkspaceDir: w.Dir(), ProjectID: p.ProjectID, RunID: p.RunID, SessionRef: ref,
		AgentID: run.AgentID, Provider: run.Provider, Argv: p.Argv, RepoID: p.RepoID, WorkdirRel: p.WorkdirRel,
		TaskID: p.TaskID, MilestoneID: p.MilestoneID, Stdin: p.Stdin, Environ: os.Environ(),
	})
	if err == nil && record.ExitCode == nil && record.Signal == nil {
		err = errors.New(record.Error)
	}
	return ExecuteResult{record.ExitCode, record.Signal}, err
}
