package orchestration

// run.*: creating, discarding, replaying and verifying runs.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ac/company"
	"ac/events"
	"ac/heartbeat/workflow"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// CreateRunParams are the params of run.create.
type CreateRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	AgentID   string `json:"agent_id" is:"id"`
	Provider  string `json:"provider"`
}

// CreateRunResult is the result of run.create.
type CreateRunResult struct {
	RunID         string `json:"run_id"`
	ContextPackID string `json:"context_pack_id"`
	RunDir        string `json:"run_dir"`
}

// CreateRun creates a run.
func (c Operations) CreateRun(ctx context.Context, p CreateRunParams) (CreateRunResult, error) {
	made, err := runs.Create(ctx, c.Workspace(), p.ProjectID, p.AgentID, p.Provider)
	base := c.Absolute()
	return CreateRunResult{made.RunID, made.ContextPackID, filepath.Join(base, filepath.FromSlash(workspace.RunDir(p.ProjectID, made.RunID)))}, err
}

// DiscardRunParams are the params of run.discard.
type DiscardRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
	ActorID   string `json:"actor_id" is:"default=human,id"`
	ActorRole string `json:"actor_role" is:"default=human,role"`
}

// DiscardRunResult is the result of run.discard.
type DiscardRunResult struct {
	RunID  string `json:"run_id"`
	Status string `json:"status"`
}

// DiscardRun ends a run that was never launched. It cancels a workflow run.
func (c Operations) DiscardRun(ctx context.Context, p DiscardRunParams) (DiscardRunResult, error) {
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		_, err := c.Flows().Cancel(ctx, p.ProjectID, p.RunID)
		run, loadErr := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
		return DiscardRunResult{p.RunID, run.Status}, errors.Join(err, loadErr)
	}
	status, err := runs.Discard(ctx, c.Workspace(), p.ProjectID, p.RunID, p.ActorID)
	return DiscardRunResult{p.RunID, status}, err
}

// ReplayParams are the params of run.replay.
type ReplayParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
	Tail      int    `json:"tail" is:"optional,gt=0"`
	Mode      string `json:"mode" is:"default=raw,enum=raw|verified|deterministic|live"`
}

// ReplayResult is the result of run.replay.
type ReplayResult struct {
	RunID              string               `json:"run_id"`
	ProjectID          string               `json:"project_id"`
	Mode               string               `json:"mode"`
	Events             []json.RawMessage    `json:"events"`
	ParseIssues        []events.ParseIssue  `json:"parse_issues"`
	VerificationIssues []events.VerifyIssue `json:"verification_issues"`
	DeterministicOK    bool                 `json:"deterministic_ok"`
	Live               Live                 `json:"live"`
}

// Live is the newest session of a run, returned by a replay in mode live.
type Live struct {
	Available  bool   `json:"available"`
	SessionRef string `json:"session_ref,omitempty"`
	Status     string `json:"status,omitempty"`
	Error      string `json:"error,omitempty"`
}

// Replay replays the log of a run.
func (c Operations) Replay(ctx context.Context, p ReplayParams) (result ReplayResult, err error) {
	result = ReplayResult{RunID: p.RunID, ProjectID: p.ProjectID, Mode: p.Mode}
	w := c.Workspace()
	if p.Mode == runs.ModeLive {
		if result.Live, err = c.live(ctx, w, p.ProjectID, p.RunID); err != nil {
			return result, err
		}
	}
	replay, err := runs.ReadLog(w, p.ProjectID, p.RunID, p.Mode, p.Tail)
	result.Events, result.ParseIssues = replay.Events, replay.ParseIssues
	result.VerificationIssues, result.DeterministicOK = replay.VerificationIssues, replay.DeterministicOK
	return result, err
}

func (c Operations) live(ctx context.Context, w *workspace.Workspace, project, run string) (Live, error) {
	records, err := session.All(w)
	if err != nil {
		return Live{}, err
	}
	for _, r := range records {
		if r.ProjectID == project && r.RunID == run {
			now, err := company.ReconcileForList(ctx, w, r)
			return Live{Available: true, SessionRef: now.Ref, Status: now.Status, Error: now.Error}, err
		}
	}
	return Live{}, nil
}

// VerifiedLog is the result of verifying one log.
type VerifiedLog struct {
	ProjectID string
	RunID     string
	Path      string
	Report    *events.Report
}

// VerifyLogsParams are the params of the command log:verify.
type VerifyLogsParams struct {
	company.Dir
	RunID string            `json:"-"` // "" for all runs
	Visit func(VerifiedLog) `json:"-"` // called after each log
}

// VerifyLogs verifies the logs of all runs, or of one. An unknown run is
// fault.NotFound.
func (c Operations) VerifyLogs(ctx context.Context, p VerifyLogsParams) (company.OK, error) {
	w := c.Workspace()
	found := false
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return company.OK{}, err
	}
	for _, project := range projects {
		ids, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
		if err != nil {
			return company.OK{}, err
		}
		for _, id := range ids {
			if p.RunID != "" && id != p.RunID {
				continue
			}
			found = true
			report, err := runs.VerifyLog(w, project, id)
			if err != nil {
				return company.OK{}, err
			}
			p.Visit(VerifiedLog{project, id, filepath.Join(c.Given(), filepath.FromSlash(workspace.LogFile(project, id))), report})
			if err := ctx.Err(); err != nil {
				return company.OK{}, err
			}
		}
	}
	if !found && p.RunID != "" {
		return company.OK{}, fault.New(fault.NotFound, "run %s does not exist in %s", p.RunID, c.Given())
	}
	return company.OK{OK: true}, nil
}

// withinWorkspace rejects a file of a workspace whose path leaves the workspace through a
// symlink.
func withinWorkspace(name, found string) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return err
	}
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(workspace.CompanyFile))); err != nil {
			continue
		}
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, found); err != nil || !filepath.IsLocal(rel) {
			return fault.New(fault.Denied, "%s is outside the workspace %s", name, dir)
		}
		return nil
	}
	return nil
}

// VerifyFile verifies one log by its path, and also against the record of its run if that is in
// the same directory. If the path of a run's log leaves the workspace, VerifyFile does not read
// the log and returns fault.Denied.
func VerifyFile(name string) (*events.Report, error) {
	found, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	if found, err = filepath.Abs(found); err != nil {
		return nil, err
	}
	if err := withinWorkspace(name, found); err != nil {
		return nil, err
	}
	root, err := durable.OpenRoot(filepath.Dir(found))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	log, err := root.OpenFile(filepath.Base(found), os.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer log.Close()
	var checkpoint *events.Checkpoint
	closed := false
	if text, err := durable.ReadFile(root, "run.yaml", yamldoc.MaxBytes); err == nil && filepath.Base(found) == events.FileName {
		run, err := workspace.Decode(doc.RunCodec, "run.yaml", text)
		if err != nil {
			return nil, err
		}
		checkpoint, closed = run.Log, doc.Terminal(run.Status)
	}
	return events.Verify(log, checkpoint, closed, nil)
}
