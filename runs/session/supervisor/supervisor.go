package supervisor

// The supervisor: a process, or part of one, that executes one run and follows it to its end.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/guard"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/internal/redact"
	"ac/runs/agent"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/runs/session/live"
	"ac/runs/session/output"
	"ac/runs/transcript"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// drainAfter bounds the wait for pipes that a process other than the provider holds open.
	// drainStopped is the bound after a stop.
	drainAfter   = 2 * time.Second
	drainStopped = time.Second
)

// Host holds what a supervisor needs from its process.
type Host struct {
	// Executable is the path of the program that has the guard command.
	Executable string
	// Tell receives the phases of the session; nil without a listener.
	Tell func(phase, reason, message string)
	// Interrupt requests a stop when it is closed.
	Interrupt <-chan struct{}
	// BudgetPatience is how long reported usage may stay over a hard limit before the provider is
	// stopped; 0 means five seconds.
	BudgetPatience time.Duration
	// StartJob starts the runner of a job that the session's agent launched. The runner is a
	// process that outlives the session, and its workers get environ. It is nil where jobs are
	// not supported.
	StartJob func(ctx context.Context, w *workspace.Workspace, project, jobID string, environ []string) error
	// Guards is shared by all sessions of the process; nil if it hosts only one.
	Guards *session.GuardSet
	// Clock is the clock of a process that hosts one session; nil for the machine's clock.
	Clock *clock.Clock
}

func (h Host) tell(phase string, err error) {
	if h.Tell == nil {
		return
	}
	if err == nil {
		h.Tell(phase, "", "")
		return
	}
	h.Tell(phase, string(fault.ReasonOf(err)), err.Error())
}

// supervisor is the state of one session. Its own goroutine owns it, except for the fields that
// mu guards.
type supervisor struct {
	w      *workspace.Workspace
	host   Host
	order  session.Order
	guard  *session.Guard
	socket *socketServer

	outDir              string // relative to the workspace
	workdir             string
	stdout              durable.File
	stderr              durable.File
	recorder            *output.Recorder
	secrets             *redact.Values             // values to mask, from the provider's environment and tools
	tools               *tools                     // nil if the agent gets none
	servers             []agent.Server             // the workspace's MCP servers for the agent
	profile             modelprofile.AgentSettings // what the model profile adds
	missingServerErrors []string                   // notices on MCP servers that the agent does not get
	talk                *live.Conversation         // nil unless the session is live
	talkReady           chan struct{}              // closed once talk is set, or never will be
	notes               notes
	reading             *output.Reading // nil until the provider runs
	noteWrites          sync.WaitGroup  // pending writes of notes
	watching            sync.WaitGroup  // the stop marker's watch
	facts               transcript.Facts
	witness             *events.Witness // of the log; nil if it could not be watched

	collector *usage.Collector // used under the recorder's lock, then by end
	budget    *budgetWatch     // nil until the provider runs
	allowance *allowance

	prior    *doc.Usage // of the run's earlier sessions
	baseArgv []string   // the command line that a live session's order gave
	config   string     // path of the MCP configuration file, "" for none
	spec     *doc.Spec  // of the execution

	// timeUp fires once, when the session exceeds its time limit. It starts with the session's
	// first process; nil before that, and without a limit.
	timeUp  <-chan time.Time
	overdue bool // exceeded its time limit; owned by the supervisor's goroutine

	remote *Remote        // set for a session on another machine
	placed []events.Draft // placement events, written together with the record

	writing sync.Mutex // serializes writes of the record; taken before mu
	mu      sync.Mutex
	record  doc.Session
	stop    chan struct{} // closed when a stop is requested
	stopped bool
	ended   chan struct{} // closed when the record is final
}

// Supervise executes a run to its end and returns the final record. The error is for refused
// sessions, for which nothing was written, and for an end that could not be recorded.
func Supervise(ctx context.Context, w *workspace.Workspace, host Host, order session.Order) (record doc.Session, err error) {
	if err := order.Check(); err != nil {
		host.tell(session.PhaseRefused, err)
		return record, err
	}
	claim, err := takeClaimWithRetry(ctx, w, order)
	if errors.Is(err, lock.ErrBusy) {
		reason := fault.Conflict
		if order.Continues() {
			reason = fault.RunBusy
		}
		err = fault.New(reason, "run %s or session %s is being executed already", order.RunID, order.SessionRef)
	}
	if err != nil {
		host.tell(session.PhaseRefused, err)
		return record, err
	}
	if host.Guards == nil {
		host.Guards = &session.GuardSet{}
	}
	s := &supervisor{w: w, host: host, order: order, collector: usage.NewCollector(), secrets: redact.FromEnviron(session.EnvironOf(order)),
		stop: make(chan struct{}), ended: make(chan struct{}), talkReady: make(chan struct{}), allowance: &allowance{},
	}
	s.learnWorkerSecrets()
	if order.Limits != nil {
		if _, err := s.allowance.set(*order.Limits); err != nil {
			host.tell(session.PhaseRefused, err)
			return record, errors.Join(err, claim.Release())
		}
	}
	defer func() { err = errors.Join(err, s.close(), claim.Release()) }()
	if err := s.accept(ctx); err != nil {
		err = s.storeEndFailure(err) // the record may exist if a later step failed
		host.tell(session.PhaseRefused, err)
		return record, err
	}
	host.tell(session.PhaseAccepted, nil)
	if err = s.run(ctx); err != nil {
		err = s.storeEndFailure(err)
	}
	close(s.ended)
	host.tell(session.PhaseTerminal, nil)
	return s.record, err
}

// accept checks the run again, now that nobody else can execute it, and writes the record.
func (s *supervisor) accept(ctx context.Context) error {
	if err := s.checkExecutable(ctx); err != nil {
		return err
	}
	if s.remote == nil { // a session on a worker is equipped there
		if err := s.equip(); err != nil {
			return err
		}
	}
	var err error
	if s.socket, err = listen(ctx, s.w.Env.IDs.Hex); err != nil {
		return fmt.Errorf("open the session's socket: %w", err)
	}
	if s.remote == nil {
		if err := s.openTools(); err != nil {
			return fmt.Errorf("grant the session's tools: %w", err)
		}
	}
	self := proc.Self()
	s.record = doc.Session{
		SchemaVersion: doc.Version, Type: "session_record", Ref: s.order.SessionRef, WorkspaceDir: s.w.Dir(),
		ProjectID: s.order.ProjectID, RunID: s.order.RunID, Status: doc.StatusRunning, Mode: s.order.Mode(),
		StartedAtMS: s.w.Env.Clock.Now().UnixMilli(), StopMarker: session.StopMarker(s.order.RunID),
		ModelProfile: s.order.ModelProfile, OwnerPID: &self.PID, OwnerStart: self.Start, Socket: s.socket.name, SocketDir: s.socket.dir,
	}
	if s.order.Live != nil {
		s.record.Driver, s.record.Activity = s.order.Live.Driver, "starting"
		s.record.MCP, s.record.MCPLaunchJobs = s.order.Live.MCP, s.order.Live.LaunchJobs
		s.record.PermissionTimeoutMS, s.record.QuestionTimeoutMS = s.order.Live.PermissionMS, s.order.Live.QuestionMS
	}
	if s.remote != nil {
		s.record.WorkerID, s.record.Epoch, s.record.Reach = s.remote.host.WorkerID, s.remote.host.Epoch, doc.ReachPlacing
	}
	switch {
	case s.order.New != nil:
		err = s.createRun(ctx)
	case s.continues():
		err = s.reopen(ctx)
	case s.remote != nil:
		err = s.place(ctx)
	default:
		err = session.WriteRecord(s.w, s.record)
	}
	if err != nil {
		return err
	}
	s.socket.serve(s)
	return nil
}

// checkExecutable returns an error if the run cannot be executed, or no longer can.
func (s *supervisor) checkExecutable(ctx context.Context) error {
	if err := s.order.CheckPermit(s.w); err != nil {
		return err
	}
	file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
	load := func() (doc.Run, error) { return workspace.Load(s.w, doc.RunCodec, file) }
	if s.order.New == nil {
		if _, err := load(); err != nil {
			return err
		}
	}
	if old, err := session.Reconcile(ctx, s.w, s.order.SessionRef); err == nil && (s.order.New != nil || !doc.Terminal(old.Status)) {
		return fault.New(fault.Conflict, "session %s: %s", s.order.SessionRef, cmp.Or(old.Error, "it exists"))
	}
	if s.order.New != nil {
		return nil // creating it fails if it exists
	}
	run, err := load()
	if err == nil && doc.Terminal(run.Status) != s.continues() {
		err = fault.New(fault.Conflict, "run %s is %s already", s.order.RunID, run.Status)
	}
	if err == nil {
		err = s.checkWaitingTexts()
	}
	return err
}

// checkWaitingTexts refuses a session launched only for waiting texts, if another session has sent them
// since it was ordered. A worker skips the check, because the log is on the hub.
func (s *supervisor) checkWaitingTexts() error {
	live := s.order.Live
	if live == nil || !live.HasWaitingTexts || strings.TrimSpace(live.Prompt) != "" || s.order.Worker != nil {
		return nil
	}
	waiting, err := session.WaitingTexts(s.w, s.order.ProjectID, s.order.RunID)
	if err == nil && len(waiting) == 0 {
		err = fault.New(fault.Conflict, "what waited in run %s was said in another session", s.order.RunID)
	}
	return err
}

// run executes the session. It records an end on every path, even after a panic.
func (s *supervisor) run(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if s.guard != nil {
				s.guard.Sweep() // the process may survive the panic
			}
			err = s.end(ctx, outcome{status: doc.StatusFailed, err: fmt.Errorf("internal fault: %v\n%s", r, debug.Stack())})
		}
	}()
	end, err := s.execute(ctx)
	if err != nil {
		end = s.outcome(nil, err)
		end.unstarted = true
	}
	return s.end(ctx, end)
}

// outcome describes how a session ended, before it is recorded.
type outcome struct {
	status   string
	exitCode *int
	signal   *string
	stopped  bool
	live     bool         // the session was live
	turn     live.TurnEnd // the last one of a live session
	reason   string       // why a live session ended early, "" for none
	err      error

	unstarted bool // its provider never ran
}

// execute starts the provider and follows it. The error is a start failure.
func (s *supervisor) execute(ctx context.Context) (outcome, error) {
	if s.order.PerTurn() {
		return s.executeTurns(ctx)
	}
	pipes, err := s.pipes()
	if err != nil {
		return outcome{}, err
	}
	// The guard starts up while the execution is recorded. It starts no provider before it gets
	// its order.
	s.guard, err = session.StartGuard(s.host.Executable, s.host.Guards, pipes.childStdin, pipes.childStdout, pipes.childStderr)
	err = errors.Join(err, pipes.closeChild())
	if err != nil {
		return outcome{}, errors.Join(err, pipes.closeOurs())
	}
	first, err := s.begin(ctx, s.prepare)
	if err != nil {
		left := s.guard.Sweep()
		return outcome{}, errors.Join(err, session.LeftError(left), pipes.closeOurs())
	}
	s.started(first)
	return s.follow(ctx, pipes), nil
}

// startProcess starts another process of the provider in the same session.
func (s *supervisor) startProcess(ctx context.Context, prepare func(context.Context) error) (*pipes, error) {
	pipes, err := s.pipes()
	if err != nil {
		return nil, err
	}
	s.guard, err = session.StartGuard(s.host.Executable, s.host.Guards, pipes.childStdin, pipes.childStdout, pipes.childStderr)
	err = errors.Join(err, pipes.closeChild())
	if err != nil {
		return nil, errors.Join(err, pipes.closeOurs())
	}
	first, err := s.begin(ctx, prepare)
	if err != nil {
		return nil, errors.Join(err, session.LeftError(s.guard.Sweep()), pipes.closeOurs())
	}
	s.started(first)
	return pipes, nil
}

// begin records the execution and then has the guard start the provider.
func (s *supervisor) begin(ctx context.Context, prepare func(context.Context) error) (guard.Report, error) {
	environ := withSessionEnv(session.WithMark(s.environ(), s.snapshot()), s.order)
	if err := prepare(ctx); err != nil {
		return guard.Report{}, err
	}
	argv, err := s.expandedArgv()
	if err != nil {
		return guard.Report{}, err
	}
	program, err := proc.LookPath(argv[0], session.EnvironValue(environ, "PATH"), s.workdir)
	if err != nil {
		return guard.Report{}, err
	}
	environ = withPWD(environ, s.workdir)
	// If the order does not reach the guard, the reports end.
	_ = s.guard.Order(guard.Order{Start: &guard.Start{Path: program, Argv: argv, Env: environ, Dir: s.workdir}})
	first, ok := <-s.guard.Reports
	if !ok || first.Error != "" {
		return guard.Report{}, errors.New(cmp.Or(first.Error, "the guard ended before the start"))
	}
	return first, nil
}

// started records the provider's process and reports that the session runs.
func (s *supervisor) started(r guard.Report) {
	claimed := s.w.Env.Clock.Now().UnixMilli()
	// The record already has its owner: failing to write the pid costs a report its detail, not
	// the session. The launch is answered after this write, which is therefore synced: an
	// unsynced hint could lose the whole record in a power failure.
	s.amend(true, func(record *doc.Session) {
		record.PID, record.PIDStart, record.PIDClaimedAtMS = &r.PID, r.Start, &claimed
	})
	s.host.tell(session.PhaseRunning, nil)
}

// provider returns the identity of the provider's process, as the guard reported it.
func (s *supervisor) provider() proc.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record.PID == nil {
		return proc.Identity{}
	}
	return proc.Identity{PID: *s.record.PID, Start: s.record.PIDStart}
}

// requestStop requests the end of the session. byCaller makes that end a stop rather than a
// failure.
func (s *supervisor) requestStop(byCaller bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = s.stopped || byCaller
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
}

// isStopRequested reports whether anybody requested a stop.
func (s *supervisor) isStopRequested() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (s *supervisor) isStoppedByCaller() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

// snapshot returns a copy of the current record.
func (s *supervisor) snapshot() doc.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

func (s *supervisor) close() error {
	s.watching.Wait()
	var errs []error
	for _, f := range []durable.File{s.stdout, s.stderr} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if s.socket != nil {
		errs = append(errs, s.socket.close())
		s.closeTools()
	}
	return errors.Join(errs...)
}
