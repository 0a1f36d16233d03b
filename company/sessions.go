package company

// session.*: launching, polling, collecting and stopping sessions.

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"

	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Poll is a session as returned by session.poll.
type Poll struct {
	SessionRef string  `json:"session_ref"`
	ProjectID  string  `json:"project_id"`
	RunID      string  `json:"run_id"`
	Status     string  `json:"status"`
	ExitCode   *int    `json:"exit_code"`
	Signal     *string `json:"signal"`
	Error      string  `json:"error,omitempty"`
	// ErrorKind is the kind of the error: auth, quota, rate_limit, overloaded,
	// context, trust, refused, network, crash or unknown.
	ErrorKind string `json:"error_kind,omitempty"`
	doc.LiveSession
	fleet.Whereabouts
}

// PollOf returns the state of a session. For a session on another machine, it reads the worker
// from the records of the workspace.
func PollOf(w *workspace.Workspace, r doc.Session) Poll {
	return Poll{r.Ref, r.ProjectID, r.RunID, r.Status, r.ExitCode, r.Signal, r.Error, r.ErrorKind, r.Live(), fleet.WhereaboutsOf(w, r)}
}

// SessionRow is a session in a list.
type SessionRow struct {
	Poll
	WorkspaceDir   string `json:"workspace_dir"`
	StartedAtMS    int64  `json:"started_at_ms"`
	EndedAtMS      *int64 `json:"ended_at_ms,omitempty"`
	Mode           string `json:"mode"`
	PID            *int   `json:"pid,omitempty"`
	PIDClaimedAtMS *int64 `json:"pid_claimed_at_ms,omitempty"`
	StopMarker     string `json:"stop_marker_relpath,omitempty"`
	ThreadID       string `json:"protocol_thread_id,omitempty"`
	TurnID         string `json:"protocol_turn_id,omitempty"`
}

// CollectResult is the result of session.collect.
type CollectResult struct {
	Poll
	EventsRelpath  string   `json:"events_relpath"`
	OutputRelpaths []string `json:"output_relpaths"`
}

// SessionParams are the params of session.poll, session.collect and session.stop.
type SessionParams struct {
	MaybeDir
	SessionRef string `json:"session_ref"`
}

// CheckFields rejects an invalid session_ref.
func (p *SessionParams) CheckFields() []fault.Issue {
	if why := session.CheckRef(p.SessionRef); why != "" {
		return []fault.Issue{{Path: []any{"session_ref"}, Code: "custom", Message: why}}
	}
	return nil
}

// find returns the workspace of a session: the one that the params name, or the only one in which
// this process knows the session.
func (cs *Host) find(ctx context.Context, p SessionParams) (*workspace.Workspace, error) {
	if err := cs.awaitLaunches(ctx, p); err != nil {
		return nil, err
	}
	if p.WorkspaceDir != "" {
		return cs.In(p.WorkspaceDir).workspace(ctx)
	}
	cs.mu.Lock()
	dirs := []string{}
	for _, l := range cs.launched {
		if l.ref == p.SessionRef && !slices.Contains(dirs, l.dir) {
			dirs = append(dirs, l.dir)
		}
	}
	seen := maps.Clone(cs.open)
	cs.mu.Unlock()
	if len(dirs) == 0 {
		for dir, o := range seen {
			if _, err := session.Read(o.ws, p.SessionRef); err == nil {
				dirs = append(dirs, dir)
			}
		}
	}
	switch len(dirs) {
	case 0:
		return nil, fault.New(fault.NotFound, "session %s is not known here; name its workspace_dir", p.SessionRef)
	case 1:
		return cs.In(dirs[0]).workspace(ctx)
	}
	return nil, fault.New(fault.Conflict, "session %s exists in %d workspaces; name its workspace_dir", p.SessionRef, len(dirs))
}

// PollSession returns the current state of a session.
func (cs *Host) PollSession(ctx context.Context, p SessionParams) (Poll, error) {
	w, err := cs.find(ctx, p)
	if err != nil {
		return Poll{}, err
	}
	record, err := session.Current(ctx, w, p.SessionRef)
	return PollOf(w, record), err
}

// StopSession stops a session.
func (cs *Host) StopSession(ctx context.Context, p SessionParams) (Poll, error) {
	w, err := cs.find(ctx, p)
	if err != nil {
		return cs.stopWorkflowAnywhere(ctx, p, err)
	}
	record, err := session.Stop(ctx, w, p.SessionRef)
	if fault.Is(err, fault.NotFound) {
		return cs.stopWorkflow(ctx, w, p.SessionRef, err)
	}
	return PollOf(w, record), err
}

// KillSession kills the agent of a session at once.
func (cs *Host) KillSession(ctx context.Context, p SessionParams) (OK, error) {
	w, err := cs.find(ctx, p)
	if err != nil {
		return OK{}, err
	}
	return OK{true}, session.Kill(ctx, w, p.SessionRef)
}

// CollectSession waits for the end of a session and returns its outputs.
func (cs *Host) CollectSession(ctx context.Context, p SessionParams) (CollectResult, error) {
	w, err := cs.find(ctx, p)
	if err != nil {
		return CollectResult{}, err
	}
	inflight.Leave(ctx)
	record, err := session.Collect(ctx, w, p.SessionRef)
	if err != nil {
		return CollectResult{}, err
	}
	w.NotifyAppend(workspace.LogFile(record.ProjectID, record.RunID)) // notify the log's subscribers of the end
	return CollectResult{
		Poll: PollOf(w, record), EventsRelpath: path.Join("runs", record.RunID, "events.jsonl"),
		OutputRelpaths: outputs(w, record.ProjectID, record.RunID),
	}, nil
}

// outputs lists the regular files directly in a run's outputs folder.
func outputs(w *workspace.Workspace, project, run string) []string {
	names := []string{}
	dir := path.Join(workspace.RunDir(project, run), "outputs")
	entries, err := w.FS.ReadDir(dir)
	if err != nil {
		return names
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, path.Join("runs", run, "outputs", e.Name()))
		}
	}
	slices.Sort(names)
	return names
}

// ListSessionsParams are the params of session.list.
type ListSessionsParams struct {
	MaybeDir
	ProjectID string `json:"project_id" is:"optional"`
	RunID     string `json:"run_id" is:"optional"`
	Status    string `json:"status" is:"optional,enum=running|ended|failed|stopped"`
}

// ListSessions lists the sessions of a workspace, or those that this process
// launched, newest first.
func (cs *Host) ListSessions(ctx context.Context, p ListSessionsParams) ([]SessionRow, error) {
	var records []doc.Session
	var dirs []string
	if p.WorkspaceDir != "" {
		w, err := cs.In(p.WorkspaceDir).workspace(ctx)
		if isNotAWorkspace(err) {
			return []SessionRow{}, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := session.All(w)
		if err != nil {
			return nil, err
		}
		for _, record := range found {
			now, err := ReconcileForList(ctx, w, record)
			if fault.Is(err, fault.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			records, dirs = append(records, now), append(dirs, p.WorkspaceDir)
		}
	} else {
		var err error
		if records, dirs, err = cs.launchedRecords(ctx); err != nil {
			return nil, err
		}
	}
	rows := []SessionRow{}
	for i, r := range records {
		if (p.ProjectID == "" || p.ProjectID == r.ProjectID) && (p.RunID == "" || p.RunID == r.RunID) && (p.Status == "" || p.Status == r.Status) {
			w, err := cs.In(dirs[i]).workspace(ctx)
			if err != nil {
				return nil, err
			}
			rows = append(rows, SessionRow{
				PollOf(w, r), dirs[i], r.StartedAtMS, r.EndedAtMS, r.Mode, r.PID, r.PIDClaimedAtMS, r.StopMarker, r.ThreadID, r.TurnID,
			})
		}
	}
	slices.SortFunc(rows, func(a, b SessionRow) int {
		return cmp.Or(cmp.Compare(b.StartedAtMS, a.StartedAtMS), cmp.Compare(a.SessionRef, b.SessionRef))
	})
	return rows, nil
}

// ReconcileForList reconciles a session's record for a list and returns it. If that fails, it returns the
// stored record with the reason. If the session no longer exists, the error is fault.NotFound.
func ReconcileForList(ctx context.Context, w *workspace.Workspace, record doc.Session) (doc.Session, error) {
	now, err := session.Current(ctx, w, record.Ref)
	switch {
	case err == nil || fault.Is(err, fault.NotFound):
		return now, err
	case ctx.Err() != nil:
		return now, context.Cause(ctx)
	}
	record.Error = "its end could not be recorded: " + err.Error()
	return record, nil
}

// launchedRecords reads the records of the sessions that this process launched, reconciled as by
// ReconcileForList.
func (cs *Host) launchedRecords(ctx context.Context) (records []doc.Session, dirs []string, err error) {
	cs.mu.Lock()
	all := slices.Clone(cs.launched)
	cs.mu.Unlock()
	for _, l := range all {
		w, err := cs.In(l.dir).workspace(ctx)
		if isNotAWorkspace(err) {
			continue // the workspace and its sessions no longer exist
		}
		if err != nil {
			return nil, nil, err
		}
		record, err := session.Read(w, l.ref)
		if err == nil {
			record, err = ReconcileForList(ctx, w, record)
		}
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		records, dirs = append(records, record), append(dirs, l.dir)
	}
	return records, dirs, nil
}

// StopLaunched cancels the jobs that this process submitted, stops every
// session that it launched, and waits until all have ended.
func (cs *Host) StopLaunched(ctx context.Context) error {
	err := cs.cancelSubmitted(ctx)
	records, dirs, ownErr := cs.launchedRecords(ctx)
	err = errors.Join(err, ownErr)
	for i, r := range records {
		if doc.Terminal(r.Status) {
			continue
		}
		_, stopErr := cs.StopSession(ctx, SessionParams{MaybeDir{dirs[i]}, r.Ref})
		err = errors.Join(err, stopErr)
	}
	for i, r := range records {
		_, collectErr := cs.CollectSession(ctx, SessionParams{MaybeDir{dirs[i]}, r.Ref})
		err = errors.Join(err, collectErr)
	}
	return err
}
