package company

// session.*: launching, polling, collecting and stopping sessions.

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"ac/fleet"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// LaunchParams are the params of session.launch.
type LaunchParams struct {
	Dir
	ProjectID  string `json:"project_id" is:"id"`
	RunID      string `json:"run_id" is:"id"`
	SessionRef string `json:"session_ref" is:"optional"`
	workParams
}

// workParams say what a session is to do, where, and for whom.
type workParams struct {
	Argv           []string          `json:"argv" is:"optional"`
	RepoID         string            `json:"repo_id" is:"optional"`
	WorkdirRel     string            `json:"workdir_rel" is:"optional,path"`
	Isolation      string            `json:"isolation" is:"optional,enum=worktree|none"`
	TaskID         string            `json:"task_id" is:"optional,id"`
	MilestoneID    string            `json:"milestone_id" is:"optional,id"`
	PromptText     *string           `json:"prompt_text" is:"optional,empty"`
	Model          string            `json:"model" is:"optional"`
	ModelProfile   string            `json:"model_profile" is:"optional"`
	Budget         *doc.Budget       `json:"budget" is:"optional"`
	StdinText      *string           `json:"stdin_text" is:"optional,empty"`
	Env            map[string]string `json:"env" is:"optional,empty"`
	LanePriority   string            `json:"lane_priority" is:"default=normal,enum=high|normal|low"`
	WorkspaceLimit int               `json:"lane_workspace_limit" is:"optional,gt=0"`
	ProviderLimit  int               `json:"lane_provider_limit" is:"optional,gt=0"`
	TeamLimit      int               `json:"lane_team_limit" is:"optional,gt=0"`
	Placement      *doc.Placement    `json:"placement" is:"optional"`
	ActorID        string            `json:"actor_id" is:"default=human"`
	ActorRole      string            `json:"actor_role" is:"default=human,role"`
	ActorTeamID    string            `json:"actor_team_id" is:"optional"`
	liveParams
	displayParams
}

// By sets who launches.
func (p *workParams) By(actor, role, team string) {
	p.ActorID, p.ActorRole, p.ActorTeamID = actor, role, team
}

// CheckFields refuses what could not be executed.
func (p *LaunchParams) CheckFields() []fault.Issue {
	issues := p.check()
	if p.SessionRef != "" {
		if why := session.CheckRef(p.SessionRef); why != "" {
			issues = append(issues, fault.Issue{Path: []any{"session_ref"}, Code: "custom", Message: why})
		}
	}
	return issues
}

func (p *workParams) check() (issues []fault.Issue) {
	issues = append(p.displayParams.check(), p.liveParams.check()...)
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: message})
	}
	if !runs.Local(p.WorkdirRel) {
		refuse("must be relative and stay inside its root", "workdir_rel")
	}
	if p.MilestoneID != "" && p.TaskID == "" {
		refuse("needs task_id", "milestone_id")
	}
	if p.Isolation != "" && p.RepoID == "" {
		refuse("needs repo_id", "isolation")
	}
	for i, word := range p.Argv {
		if strings.ContainsRune(word, 0) {
			refuse("must not contain NUL", "argv", i)
		}
	}
	return append(issues, checkEnv(p.Env)...)
}

// spec is what is to be launched.
func (p *workParams) spec(c *Company, project, run, ref string) runs.LaunchSpec {
	return runs.LaunchSpec{
		ProjectID: project, RunID: run, SessionRef: ref, Argv: p.Argv, RepoID: p.RepoID, WorkdirRel: p.WorkdirRel,
		TaskID: p.TaskID, MilestoneID: p.MilestoneID, Stdin: p.StdinText, Prompt: p.PromptText, Model: p.Model, ModelProfile: p.ModelProfile,
		Live: p.liveParams.spec(p.displayParams), Version: c.all.version, Env: p.Env, Budget: p.Budget,
		Placement: p.Placement, Environ: c.all.launcher.Environ,
		Actor:    policy.Actor{ID: cmp.Or(strings.TrimSpace(p.ActorID), "human"), Role: p.ActorRole, Team: p.ActorTeamID},
		Priority: p.LanePriority, LaneLimits: lane.Limits{Workspace: p.WorkspaceLimit, Provider: p.ProviderLimit, Team: p.TeamLimit},
	}
}

// LaunchResult is the result of session.launch.
type LaunchResult struct {
	SessionRef string `json:"session_ref"`
}

// Launch starts the session of a run.
func (c *Company) Launch(ctx context.Context, p LaunchParams) (_ LaunchResult, err error) {
	ref := cmp.Or(p.SessionRef, session.LocalRef(p.RunID))
	end := c.all.begin(launched{c.dir, ref})
	defer func() { end(err) }()
	spec := p.spec(c, p.ProjectID, p.RunID, ref)
	isolate(&spec, p.Isolation)
	starter, err := c.placedOf(&spec)
	if err != nil {
		return LaunchResult{}, err
	}
	if err = runs.Launch(ctx, c.w, c.all.admission(c.w), starter, spec); err != nil {
		return LaunchResult{}, err
	}
	c.all.rememberSession(c.dir, ref)
	return LaunchResult{SessionRef: ref}, nil
}

// isolate sets where a launch in a repository works.
func isolate(spec *runs.LaunchSpec, isolation string) {
	switch isolation {
	case runs.IsolationWorktree:
		spec.Worktree = &session.Worktree{Owner: cmp.Or(spec.TaskID, spec.RunID), Run: spec.RunID}
	case runs.IsolationNone:
		spec.InPlace = true
	}
}

// rememberSession keeps that this process launched a session.
func (cs *Host) rememberSession(dir, ref string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.launched = append(cs.launched, launched{dir, ref})
}

// Poll is a session as session.poll returns it.
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

// pollOf is the state of a session. Where one is that runs on another machine is known by
// the records of its workspace.
func pollOf(w *workspace.Workspace, r doc.Session) Poll {
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

// CheckFields refuses an invalid session_ref.
func (p *SessionParams) CheckFields() []fault.Issue {
	if why := session.CheckRef(p.SessionRef); why != "" {
		return []fault.Issue{{Path: []any{"session_ref"}, Code: "custom", Message: why}}
	}
	return nil
}

// find returns the workspace of a session: the one that is named, or the only
// one in which this process knows the session.
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
	return pollOf(w, record), err
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
	return pollOf(w, record), err
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
	w.NotifyAppend(workspace.LogFile(record.ProjectID, record.RunID)) // its subscribers are notified of the end, too
	return CollectResult{
		Poll: pollOf(w, record), EventsRelpath: path.Join("runs", record.RunID, "events.jsonl"),
		OutputRelpaths: outputs(w, record.ProjectID, record.RunID),
	}, nil
}

// outputs lists the regular files directly in a run's outputs.
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
		if none(err) {
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
			now, err := listed(ctx, w, record)
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
		if records, dirs, err = cs.own(ctx); err != nil {
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
				pollOf(w, r), dirs[i], r.StartedAtMS, r.EndedAtMS, r.Mode, r.PID, r.PIDClaimedAtMS, r.StopMarker, r.ThreadID, r.TurnID,
			})
		}
	}
	slices.SortFunc(rows, func(a, b SessionRow) int {
		return cmp.Or(cmp.Compare(b.StartedAtMS, a.StartedAtMS), cmp.Compare(a.SessionRef, b.SessionRef))
	})
	return rows, nil
}

// listed is the current state of a record for a list. If the session cannot be
// reconciled, it returns the stored record with the reason; if it is gone
// meanwhile, fault.NotFound.
func listed(ctx context.Context, w *workspace.Workspace, record doc.Session) (doc.Session, error) {
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

// own reads the records of the sessions that this process launched.
func (cs *Host) own(ctx context.Context) (records []doc.Session, dirs []string, err error) {
	cs.mu.Lock()
	all := slices.Clone(cs.launched)
	cs.mu.Unlock()
	for _, l := range all {
		w, err := cs.In(l.dir).workspace(ctx)
		if none(err) {
			continue // the workspace is gone, and its sessions with it
		}
		if err != nil {
			return nil, nil, err
		}
		record, err := session.Read(w, l.ref)
		if err == nil {
			record, err = listed(ctx, w, record)
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
	records, dirs, ownErr := cs.own(ctx)
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
