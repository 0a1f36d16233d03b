package runs

// Launching a run: the checks before its session starts.

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs/lane"
	"ac/runs/modelprofile"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// LaunchSpec is a request to launch a run.
type LaunchSpec struct {
	ProjectID  string
	RunID      string
	SessionRef string
	Argv       []string
	RepoID     string
	WorkdirRel string
	Worktree   *session.Worktree // in the repository; nil to let the task decide
	InPlace    bool              // work in the repository itself, whatever the task requires
	// Placement is where the session runs, nil for this machine. The Starter carries it out.
	Placement *doc.Placement
	Environ   []string // environment of programs that read the repository before the launch
	TaskID    string
	// WorkflowRunID is the workflow run to which this run belongs as an attempt, "" for none.
	WorkflowRunID string
	MilestoneID   string
	Stdin         *string
	Prompt        *string
	LongPrompt    bool     // a job's prompt, which may exceed MaxPrompt
	Template      []string // command line of a command agent; nil for the one in its document
	Model         string
	// ModelProfile is the workspace's profile for starting the agent, "" for none. It supplies
	// the model if Model is "".
	ModelProfile string
	Level        string // permission level of an app server; "" for run_commands
	Files        provider.CodexFiles
	Version      string // of this program
	Env          map[string]string
	Budget       *doc.Budget
	Live         LiveSpec
	Waits        bool // messages are waiting in the run's log
	// Made means that ac built the command line, for the machine in Placement. Bring lists the
	// files in the run's outputs that the agent gets there.
	Made       bool
	Bring      []string
	Actor      policy.Actor
	Priority   string      // in the launch lane
	LaneLimits lane.Limits // unset ones default to those of the process
}

// Local reports whether a relative path stays inside its root. "" is local.
func Local(rel string) bool { return rel == "" || filepath.IsLocal(filepath.FromSlash(rel)) }

// Starter starts the session of an order: in its own process (session.Launcher), in this process
// (session.Hosted), or on another machine (fleet.Starter).
type Starter interface {
	Launch(ctx context.Context, order session.Order) error
}

// Launch starts the session of a run. It checks the run's state, takes a slot in the launch
// lane, checks policy and budgets, and starts the supervisor. It releases the slot on return. A
// refusal by policy or budget ends the run. If the run is finished or running, or ctx ends while
// Launch waits in the lane, nothing changes.
func Launch(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, spec LaunchSpec) error {
	run, err := Launchable(ctx, w, spec.ProjectID, spec.RunID, spec.SessionRef)
	if err != nil {
		return err
	}
	if err := spec.adopt(w, run.Provider); err != nil {
		return err
	}
	if err := spec.placeable(ctx, w, spec.InPlace); err != nil {
		return err
	}
	live, err := spec.live(w, run)
	if err != nil {
		return err
	}
	ticket, waited, err := a.enter(ctx, w, spec, run)
	if err != nil {
		return err
	}
	defer ticket.Leave()
	if waited {
		if run, err = Launchable(ctx, w, spec.ProjectID, spec.RunID, spec.SessionRef); err != nil {
			return err
		}
	}
	if err := authorize(ctx, w, spec, run); err != nil {
		return err
	}
	if err := a.preflight(ctx, w, spec); err != nil {
		return err
	}
	if spec.Worktree, err = spec.launchWorktree(ctx, w); err != nil {
		return err
	}
	return spec.launch(ctx, starter, ticket, spec.order(w, run, live))
}

// launch starts the session of an order. If it may have to wait for another machine, it first
// leaves the lane and lets other requests proceed.
func (s LaunchSpec) launch(ctx context.Context, starter Starter, ticket *lane.Ticket, order session.Order) error {
	if s.Placement.Local() || s.Placement.Where == doc.WhereAny {
		return starter.Launch(ctx, order)
	}
	ticket.Leave()
	waiting, done, err := inflight.Wait(ctx)
	if err != nil {
		return err
	}
	defer done()
	return starter.Launch(waiting, order)
}

// order returns the order for the supervisor of a launch.
func (s LaunchSpec) order(w *workspace.Workspace, run doc.Run, live *session.LiveOrder) session.Order {
	return session.Order{
		WorkspaceDir: w.Dir(), ProjectID: s.ProjectID, RunID: s.RunID, SessionRef: s.SessionRef,
		AgentID: run.AgentID, Provider: run.Provider, Argv: s.Argv, ArgvHasMarks: s.Made, Bring: s.Bring, RepoID: s.RepoID, WorkdirRel: s.WorkdirRel,
		Worktree: s.Worktree, InPlace: s.InPlace, TaskID: s.TaskID, WorkflowRunID: s.WorkflowRunID, MilestoneID: s.MilestoneID, Budget: s.Budget, Stdin: s.Stdin, Live: live, Env: s.Env,
		ModelProfile: s.ModelProfile, MonotonicMS: w.Env.Clock.MonotonicMS(),
	}
}

// adopt fills in the model from the named profile. It refuses a profile that does not apply to
// the provider's agent.
func (s *LaunchSpec) adopt(w *workspace.Workspace, provider string) error {
	if s.ModelProfile == "" {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	name, profile, err := modelprofile.Find(machine, s.ModelProfile)
	if err != nil {
		return err
	}
	driver, err := s.driver(provider)
	if err != nil {
		return err
	}
	if kind := modelprofile.FamilyOf(provider, driver); !slices.Contains(modelprofile.ProfileOf(name, profile).Applies, kind) {
		return fault.InvalidField("model_profile", "%s does not apply to agents of provider %s", name, provider)
	}
	s.ModelProfile, s.Model = name, cmp.Or(s.Model, profile.Model)
	return nil
}

// Launchable returns the record of a run that may be launched. It refuses a run that is finished
// or has a live session, and a session_ref in use. It first reconciles a run whose supervisor
// died.
func Launchable(ctx context.Context, w *workspace.Workspace, project, runID, ref string) (doc.Run, error) {
	run, err := Load(w, project, runID)
	if err != nil {
		return run, err
	}
	if w.Exists(workspace.WorkflowRunFile(project, runID)) {
		return run, fault.New(fault.Conflict, "run %s is a run of a workflow, which launches its tasks itself", runID)
	}
	over := func() error {
		return fault.New(fault.Conflict, "run %s is already %s; create another run to execute it again", runID, run.Status)
	}
	if doc.Terminal(run.Status) {
		return run, over()
	}
	if session.RunAlive(w, project, runID) {
		return run, fault.New(fault.Conflict, "run %s has a live session", runID)
	}
	// An owner with a final record is about to release its ref.
	record, err := session.Current(ctx, w, ref)
	if known := err == nil; (known && !doc.Terminal(record.Status)) || (!known && session.RefAlive(w, ref)) {
		return run, fault.New(fault.Conflict, "session_ref %s is in use by a session that has not ended", ref)
	}
	if err := requireSessionsOver(ctx, w, project, runID, run.Spec != nil); err != nil {
		return run, err
	}
	if run, err = Load(w, project, runID); err != nil {
		return run, err
	}
	if doc.Terminal(run.Status) {
		return run, over()
	}
	return run, nil
}

// teamOf returns the team of a run's agent, "" if it has none.
func teamOf(w *workspace.Workspace, run doc.Run) string {
	if !workspace.SafeID(run.AgentID) {
		return ""
	}
	return w.AgentTeam(run.AgentID)
}

// requireSessionsOver reconciles the sessions of a run and refuses the run if one of them has
// not ended. Other programs may be starting a run that was never executed. For such a run, it
// checks only the sessions named after the run.
func requireSessionsOver(ctx context.Context, w *workspace.Workspace, project, runID string, executed bool) error {
	named := runID
	if executed {
		named = ""
	}
	records, err := session.NamedAfter(w, named)
	for _, record := range records {
		if record.ProjectID == project && record.RunID == runID {
			now, currentErr := session.Current(ctx, w, record.Ref)
			if currentErr == nil && !doc.Terminal(now.Status) {
				currentErr = fault.New(fault.Conflict, "run %s has a session that has not ended: %s", runID, record.Ref)
			}
			err = errors.Join(err, currentErr)
		}
	}
	return err
}

// refusedPayload is the payload of the closing event of a run whose launch was refused.
type refusedPayload struct {
	ExitCode       *int    `json:"exit_code"`
	Signal         *string `json:"signal"`
	Stopped        bool    `json:"stopped"`
	Preflight      bool    `json:"preflight"`
	Reason         string  `json:"reason"`
	Error          string  `json:"error"`
	BudgetExceeded bool    `json:"budget_exceeded"`
}

// resource returns the run as a resource of the policy.
func resource(w *workspace.Workspace, run doc.Run) policy.Resource {
	r := policy.Resource{ID: run.ID, Kind: "run", Visibility: events.VisibilityOrg, Team: teamOf(w, run)}
	if r.Team != "" {
		r.Visibility = events.VisibilityTeam
	}
	return r
}

// Approval returns the question whether an actor may answer the interactions of a run, or change
// the policy that answers them. The run's own agent never may.
func Approval(w *workspace.Workspace, run doc.Run, actor policy.Actor) policy.Question {
	r := resource(w, run)
	r.Askers = []string{run.AgentID}
	return policy.Question{Action: policy.Approve, Resource: r, Actor: actor, RunID: run.ID}
}

// authorize asks the policy and records its decision in the run's log. A refusal ends the run.
func authorize(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, run doc.Run) error {
	verdict := policy.Ask(w, Launching(w, run, spec.Actor))
	told, err := verdict.Events(w.Events)
	if err != nil {
		return err
	}
	if refusal := verdict.Refusal(); refusal != nil {
		return errors.Join(refuse(ctx, w, spec, "policy_denied", refusal, told...), refusal)
	}
	return w.Append(ctx, workspace.LogFile(spec.ProjectID, spec.RunID), told...)
}

// refuse ends a run whose launch was refused, unless a session of the run is now alive.
func refuse(ctx context.Context, w *workspace.Workspace, spec LaunchSpec, reason string, refusal error, before ...events.Draft) error {
	now := w.Env.Clock.Now()
	failed, err := w.Events.Draft(events.Draft{
		At: now, RunID: spec.RunID, SessionRef: cmp.Or(spec.SessionRef, session.LocalRef(spec.RunID)), Actor: events.ActorSystem,
		Visibility: events.VisibilityOrg, Type: events.RunFailed,
	}, refusedPayload{Preflight: true, Reason: reason, Error: refusal.Error(), BudgetExceeded: fault.Is(refusal, fault.BudgetExceeded)})
	if err != nil {
		return err
	}
	log := workspace.LogFile(spec.ProjectID, spec.RunID)
	return w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(spec.ProjectID, spec.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if doc.Terminal(run.Status) || session.RunAlive(w, spec.ProjectID, spec.RunID) {
			u.Append(log, before...)
			return nil
		}
		run.Status, run.EndedAt = doc.StatusFailed, clock.Stamp(now)
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		u.Append(log, slices.Concat(before, []events.Draft{failed})...)
		return nil
	})
}
