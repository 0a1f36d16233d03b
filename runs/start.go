package runs

// Starting a run: creating it and launching its session as one operation. All checks that could
// refuse the launch come before anything is created.

import (
	"cmp"
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/budget"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// Values of StartSpec.Isolation.
const (
	IsolationWorktree = "worktree"
	IsolationNone     = "none"
)

// StartSpec is a request to create and launch a run. The embedded LaunchSpec must not name a
// run.
type StartSpec struct {
	LaunchSpec
	AgentID  string
	Provider string // "" for the agent's provider
	// Isolation is where a run in a repository works. "" means a worktree if the repository is a
	// git repository, else none.
	Isolation string
	BaseRunID string // start the worktree at that run's commit
	Title     string
	RetryOf   string
	From      string // origin of the request: cli, web, …
	LimitMS   int64  // time limit of the run, 0 for none
	// Key is the client's id of the request. Content is the digest of the request.
	Key, Content string
	DryRun       bool
	ExpectPlan   string // hash of the expected plan, "" for any
}

// StartResult identifies a new run. With DryRun, it holds only the plan.
type StartResult struct {
	RunID      string
	SessionRef string
	Plan       *Plan
	PlanHash   string
}

// start is the state of one call of Start.
type start struct {
	w             *workspace.Workspace
	spec          StartSpec
	run           doc.Run
	agent         doc.Agent
	machine       doc.Machine
	live          *session.LiveOrder
	argv          []string // as far as known before the session is prepared
	program       string
	root          string // root of the repository, "" for none
	dir           string // working directory; for a worktree, the directory it is created from
	tree          *session.Worktree
	initialEvents []events.Draft // initial events of the run's log
}

// Start creates a run and launches its session, or does neither. The run, its context pack and
// the record of its session become durable atomically, before Start returns. A refusal leaves no
// run behind; the audit log records a refusal by the policy. Within a day, a project has at most
// one run per Key. If the plan differs from ExpectPlan, the error data contains the plan.
func Start(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, spec StartSpec) (none StartResult, err error) {
	if first, ok, err := findStarted(w, spec); ok || err != nil {
		return first, err
	}
	s := &start{w: w, spec: spec}
	if err := s.check(ctx); err != nil {
		return none, err
	}
	if spec.DryRun || spec.ExpectPlan != "" {
		plan, hash, err := s.plan(ctx, a)
		switch {
		case err != nil:
			return none, err
		case spec.DryRun:
			return StartResult{Plan: plan, PlanHash: hash}, nil
		case hash != spec.ExpectPlan:
			return none, fault.New(fault.PlanChanged, "what would be started is not what was shown").With(planData{plan, hash})
		}
	}
	ticket, _, err := a.enter(ctx, w, s.spec.LaunchSpec, s.run)
	if err != nil {
		return none, err
	}
	defer ticket.Leave()
	if err := s.admit(ctx, a); err != nil {
		return none, err
	}
	order, err := s.order()
	if err != nil {
		return none, err
	}
	if err := s.spec.launch(ctx, starter, ticket, order); err != nil {
		if first, ok, _ := findStarted(w, spec); ok {
			return first, nil // a concurrent request with the same key won the race
		}
		return none, err
	}
	w.NotifyAppend(workspace.LogFile(order.ProjectID, order.RunID))
	if spec.Key != "" {
		session.ForgetStarts(w)
	}
	return StartResult{RunID: order.RunID, SessionRef: order.SessionRef}, nil
}

// findStarted returns the run that an earlier request with the same key created.
func findStarted(w *workspace.Workspace, spec StartSpec) (StartResult, bool, error) {
	if spec.Key == "" || spec.DryRun {
		return StartResult{}, false, nil
	}
	first, ok := session.StartedBy(w, spec.ProjectID, spec.Key)
	if ok && first.Content != spec.Content {
		return StartResult{}, true, fault.New(fault.Conflict, "client_message_id %s stands for another request, which made run %s", spec.Key, first.RunID)
	}
	return StartResult{RunID: first.RunID, SessionRef: first.Ref}, ok, nil
}

// check performs all checks that write nothing: names, the agent's program, and the place of
// work.
func (s *start) check(ctx context.Context) (err error) {
	spec := &s.spec
	if _, err := s.w.Project(spec.ProjectID); err != nil {
		return err
	}
	agent, err := s.w.Agent(spec.AgentID)
	if err != nil && (spec.Provider == "" || !fault.Is(err, fault.NotFound)) {
		return err
	}
	s.agent = agent
	if spec.TaskID != "" {
		if _, err := s.w.Task(spec.ProjectID, spec.TaskID); err != nil {
			return err
		}
	}
	spec.RunID = s.w.Env.IDs.New("run")
	if spec.SessionRef == "" {
		spec.SessionRef = session.LocalRef(spec.RunID)
	}
	s.run = doc.Run{ID: spec.RunID, ProjectID: spec.ProjectID, AgentID: spec.AgentID, Provider: cmp.Or(spec.Provider, agent.Provider)}
	if s.machine, err = s.w.Machine(); err != nil {
		return err
	}
	s.chooseDriver()
	if err := spec.adopt(s.w, s.run.Provider); err != nil {
		return err
	}
	if s.live, err = spec.live(s.w, s.run); err != nil {
		return err
	}
	if err := spec.placeable(ctx, s.w, spec.Isolation == IsolationNone); err != nil {
		return err
	}
	if err := s.place(ctx); err != nil {
		return err
	}
	return s.findProgram()
}

// chooseDriver chooses the driver if the caller named none. A prompt uses the driver of the provider,
// interactively, so that permission level and mode apply.
func (s *start) chooseDriver() {
	live, known := &s.spec.Live, doc.ProviderNamed(s.run.Provider)
	if live.Driver == "" && s.spec.Prompt != nil && known.Live != "" {
		live.Driver = known.Live
	}
	if live.Driver != "" && live.Driver != session.DriverCommand && live.Interactive == nil {
		live.Interactive = new(true)
	}
}

// unavailable converts an error about the place of work to fault.PlaceUnavailable.
func unavailable(err error) error {
	if err == nil || fault.Is(err, fault.Internal) || fault.Is(err, fault.InvalidParams) {
		return err
	}
	return fault.New(fault.PlaceUnavailable, "%w", err)
}

// place decides where the run works.
func (s *start) place(ctx context.Context) (err error) {
	spec := &s.spec
	s.dir = s.w.Dir()
	if spec.RepoID == "" {
		if spec.Isolation == IsolationWorktree || spec.BaseRunID != "" {
			return fault.InvalidField("isolation", "a worktree needs repo_id")
		}
		return nil
	}
	if s.root, err = worktree.Root(s.machine, spec.RepoID); err != nil {
		return unavailable(err)
	}
	isolated := spec.Isolation == IsolationWorktree || spec.BaseRunID != "" || !spec.Placement.Local()
	if spec.Isolation == "" {
		isolated = isolated || worktree.IsRepository(ctx, spec.Environ, s.root)
	}
	if !isolated {
		if err := s.mayWorkInPlace(); err != nil {
			return err
		}
		s.dir, err = worktree.Confine(s.root, spec.WorkdirRel)
		return unavailable(err)
	}
	s.tree = &session.Worktree{Owner: cmp.Or(spec.TaskID, spec.RunID), Run: spec.RunID}
	s.dir = filepath.Join(s.root, filepath.FromSlash(spec.WorkdirRel))
	if spec.BaseRunID != "" {
		s.tree.Base, err = s.tipOf(ctx, spec.BaseRunID)
		return err
	}
	s.tree.Base, err = spec.commit(ctx, s.root, "")
	return unavailable(err)
}

// tipOf returns the commit of another run in the same repository: the HEAD of its worktree, or
// what it left on another machine.
func (s *start) tipOf(ctx context.Context, run string) (string, error) {
	base, err := Load(s.w, s.spec.ProjectID, run)
	if err != nil {
		return "", err
	}
	repo, rel, branch := base.Tree()
	switch {
	case repo != s.spec.RepoID || rel == "" && branch == "":
		return "", fault.New(fault.PlaceUnavailable, "run %s has no worktree of repository %s", run, s.spec.RepoID)
	case rel == "":
		tip, err := worktree.WorkCommit(ctx, s.spec.Environ, s.root, run, branch)
		return tip, unavailable(err)
	}
	dir, err := worktree.Find(s.w, base)
	if err != nil {
		return "", unavailable(err)
	}
	tip, err := worktree.Head(ctx, s.spec.Environ, dir)
	return tip, unavailable(err)
}

// mayWorkInPlace refuses an actor who may not let an agent change a repository's own working
// tree.
func (s *start) mayWorkInPlace() error {
	if s.live != nil && s.live.Policy.PermissionLevel == doc.LevelReadOnly {
		return nil
	}
	actor, err := policy.Effective(s.w, s.spec.Actor)
	if err == nil && !MayRaise(actor.Role) {
		err = fault.New(fault.Denied, "isolation none with a level above read-only needs a person or a manager")
	}
	return err
}

// findProgram finds the program in the run's PATH. If the run may execute on another machine,
// that machine searches for it.
func (s *start) findProgram() (err error) {
	if s.argv = s.spec.Argv; s.live != nil {
		call := provider.LiveCall{Provider: s.run.Provider, Driver: s.live.Driver, Argv: s.spec.Argv, Model: s.live.Model, Mode: string(s.live.Policy.Mode)}
		if s.live.Driver == session.DriverCommand {
			call.Argv = s.live.Template
		}
		if s.argv, err = call.Words(s.machine); err != nil {
			return err
		}
	}
	if len(s.argv) == 0 || s.argv[0] == "" {
		return fault.InvalidField("argv", "must begin with a program")
	}
	if !s.spec.Placement.Local() {
		s.program = s.argv[0]
		return nil
	}
	if s.program, err = proc.LookPath(s.argv[0], pathOf(session.Environ(s.spec.Environ, s.spec.Env)), s.dir); err != nil {
		return fault.New(fault.ProgramMissing, "%w", err)
	}
	return nil
}

// version returns the version of the agent's program, "" for a command or if it is unknown.
func (s *start) version() string {
	if s.live == nil || !s.spec.Placement.Local() {
		return ""
	}
	return provider.KnownVersion(s.w, s.program)
}

// pathOf returns the PATH in an environment.
func pathOf(environ []string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}

// admit checks policy and budgets. Their decisions become the initial events of the run's log.
func (s *start) admit(ctx context.Context, a *Admission) error {
	verdict := s.ask()
	told, err := verdict.Events(s.w.Events)
	if err != nil {
		return err
	}
	if refusal := verdict.Refusal(); refusal != nil {
		err := durable.MkdirAll(s.w.FS, path.Dir(workspace.AuditLog), 0o755)
		if err == nil {
			err = s.w.Append(context.WithoutCancel(ctx), workspace.AuditLog, told...)
		}
		return errors.Join(refusal, err)
	}
	spent, err := s.afford(a)
	s.initialEvents = slices.Concat(told, spent)
	return err
}

func (s *start) ask() policy.Verdict {
	return policy.Ask(s.w, Launching(s.w, s.run, s.spec.Actor))
}

// afford compares past spending with the budgets.
func (s *start) afford(a *Admission) ([]events.Draft, error) {
	told, refusal, err := a.compare(s.w, s.spec.LaunchSpec, budget.Spend{})
	if refusal != nil {
		refusal = fault.New(fault.BudgetRefused, "%w", refusal)
	}
	return told, errors.Join(err, refusal)
}

// order returns the order of the session, including the new run.
func (s *start) order() (session.Order, error) {
	spec := s.spec
	made, begun, err := newRunTrees(s.w, spec.ProjectID, spec.AgentID, s.run.Provider, Beginning{
		RunID: spec.RunID, Events: s.initialEvents, Title: spec.Title, StartKey: spec.Key, RetryOf: spec.RetryOf, From: spec.From,
		ProgramVersion: s.version(), Placement: spec.Placement,
	})
	if err != nil {
		return session.Order{}, err
	}
	order := spec.order(s.w, s.run, s.live)
	order.Worktree, order.InPlace, order.LimitMS = s.tree, s.tree == nil, spec.LimitMS
	order.New = &session.NewRun{ContextPackID: made.ContextPackID, Pack: begun.pack, Run: begun.run}
	if spec.Key != "" {
		order.New.Key = &session.StartKey{Key: spec.Key, Content: spec.Content}
	}
	return order, nil
}
