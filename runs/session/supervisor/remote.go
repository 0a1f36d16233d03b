package supervisor

// Sessions whose provider runs on another machine: what the hub does for one in the place
// of a supervisor. It holds the locks, writes the record and the end, and answers at the
// socket; what happens over there it learns from a worker.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sync"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/internal/redact"
	"ac/runs/budget"
	"ac/runs/session"
	"ac/runs/session/live"
	"ac/workspace"
	"ac/workspace/doc"
)

// RemoteHost is what a session on another machine takes from its hub.
type RemoteHost struct {
	WorkerID string
	Epoch    int
	// Verb carries a verb of the socket out over there, other than state, wait and stop.
	// It returns once what it caused is in the run's log.
	Verb func(ctx context.Context, verb string, params json.RawMessage) (result json.RawMessage, err error)
	// Stop is called once when somebody, or a budget, wants the session to end. The note
	// that it returns is for who asked; "" for none. It does not block.
	Stop func(byCaller bool) (note string)
}

// Remote is a session on another machine. Its methods are safe for concurrent use, but for
// End and Close, which are called once, in this order, by one goroutine.
type Remote struct {
	s    *supervisor
	host RemoteHost
	hold *session.Claim

	gone chan struct{} // closed when the hub lets go of the session

	mu   sync.Mutex // of what follows, and of where the session is
	told bool       // the hub knows of the stop
	note string
}

// AcceptRemote takes the locks of a session, writes its record and the events placed, as
// one unit, and serves its socket. An error is a refusal: nothing was written then.
func AcceptRemote(ctx context.Context, w *workspace.Workspace, host RemoteHost, order session.Order, placed func(events.Source) ([]events.Draft, error)) (*Remote, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	hold, err := takeSoon(ctx, w, order)
	if errors.Is(err, lock.ErrBusy) {
		reason := fault.Conflict
		if order.Continues() {
			reason = fault.RunBusy
		}
		err = fault.New(reason, "run %s or session %s is being executed already", order.RunID, order.SessionRef)
	}
	if err != nil {
		return nil, err
	}
	r := newRemote(w, host, order, hold)
	if r.s.placed, err = placed(w.Events); err == nil {
		err = r.s.accept(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.s.close(), hold.Release())
	}
	if order.RepoID != "" {
		err = r.recordRepo(ctx)
	}
	r.watchBudget()
	return r, err
}

// ResumeRemote takes a session over whose hub ended. The order is that of its start.
func ResumeRemote(ctx context.Context, w *workspace.Workspace, host RemoteHost, order session.Order) (*Remote, error) {
	hold, err := session.TakeClaim(w, order.ProjectID, order.RunID, order.SessionRef)
	if err != nil {
		return nil, fmt.Errorf("take the locks of session %s: %w", order.SessionRef, err)
	}
	if err := w.Recover(ctx); err != nil { // the end may have been under way
		return nil, errors.Join(err, hold.Release())
	}
	record, err := session.Read(w, order.SessionRef)
	if err == nil && (record.WorkerID != host.WorkerID || record.Epoch != host.Epoch) && !isBefore(record, host) {
		err = fault.New(fault.Conflict, "the record of session %s is of another attempt", order.SessionRef)
	}
	if err != nil {
		return nil, errors.Join(err, hold.Release())
	}
	session.RemoveSocket(record)
	r := newRemote(w, host, order, hold)
	r.s.record = record
	if run, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(order.ProjectID, order.RunID)); err == nil && run.Live != nil {
		r.s.prior = run.Live.PriorUsage
	}
	if r.s.socket, err = listen(ctx, w.Env.IDs.Hex); err != nil {
		return nil, errors.Join(err, hold.Release())
	}
	if doc.Terminal(record.Status) {
		close(r.s.ended)
		return r, nil
	}
	self := proc.Self()
	r.s.record.OwnerPID, r.s.record.OwnerStart = &self.PID, self.Start
	r.s.record.Socket, r.s.record.SocketDir = r.s.socket.name, r.s.socket.dir
	if err := session.WriteRecord(w, r.s.record); err != nil {
		return nil, errors.Join(err, r.s.close(), hold.Release())
	}
	r.s.socket.serve(r.s)
	r.watchBudget()
	return r, nil
}

// isBefore reports whether a record is of an epoch before that of the attempt: the session was
// being placed anew, and PlaceAgain did not come to its end.
func isBefore(record doc.Session, host RemoteHost) bool {
	return record.WorkerID != "" && record.Epoch < host.Epoch && !doc.Terminal(record.Status)
}

// Before is the attempt that the session's record names, where PlaceAgain is due for that of
// the host.
func (r *Remote) Before() (workerID string, epoch int, due bool) {
	record := r.s.snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	return record.WorkerID, record.Epoch, isBefore(record, r.host)
}

func newRemote(w *workspace.Workspace, host RemoteHost, order session.Order, hold *session.Claim) *Remote {
	s := &supervisor{w: w, order: order, secrets: redact.FromEnviron(session.EnvironOf(order)), may: &allowance{},
		stop: make(chan struct{}), ended: make(chan struct{}), spoken: make(chan struct{}),
	}
	r := &Remote{s: s, host: host, hold: hold, gone: make(chan struct{})}
	s.remote = r
	return r
}

// place writes the record and the events that tell where the session was placed.
func (s *supervisor) place(ctx context.Context) error {
	text, err := doc.SessionCodec.Encode(s.record)
	if err != nil {
		return err
	}
	return s.w.Update(ctx, func(u *workspace.Unit) error {
		u.Append(workspace.LogFile(s.order.ProjectID, s.order.RunID), s.placed...)
		return u.Write(workspace.SessionFile(s.record.Ref), text, 0o600)
	})
}

// serve carries out a request at the socket.
func (r *Remote) serve(request session.Request) socketReply {
	reply := socketReply{Version: max(request.Version, 1), ID: request.ID}
	switch request.Verb {
	case "\x00":
		reply.Error = "request not understood"
	case session.VerbWait:
		select {
		case <-r.s.ended:
		case <-r.gone:
		}
	case verbState:
	case session.VerbStop:
		r.RequestStop(true)
	default:
		if _, known := live.Verbs()[request.Verb]; !known || request.Version < 2 {
			reply.Error, reply.Reason = "unknown verb "+request.Verb, string(fault.Unsupported)
			return reply
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { // ends with the request
			select {
			case <-r.s.ended:
				cancel()
			case <-r.gone:
				cancel()
			case <-ctx.Done():
			}
		}()
		result, err := r.host.Verb(ctx, request.Verb, request.Params)
		reply.with(result, err)
	}
	return reply
}

// RequestStop asks for the end of the session: of itself, it is told to the worker. byCaller
// says that its end is a stop rather than a failure.
func (r *Remote) RequestStop(byCaller bool) {
	r.s.requestStop(byCaller)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.told || byCaller {
		r.told = true
		r.note = r.host.Stop(byCaller)
	}
}

// Snapshot is the record as it is now.
func (r *Remote) Snapshot() doc.Session { return r.s.snapshot() }

// reported is the record as it is told to who asks by the socket: with what became of a
// stop.
func (r *Remote) reported() doc.Session {
	record := r.s.snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !doc.Terminal(record.Status) && record.Error == "" {
		record.Error = r.note
	}
	return record
}

// Amend changes the record. What is no hint is durable when Amend returns.
func (r *Remote) Amend(durable bool, change func(*doc.Session)) { r.s.amend(durable, change) }

// PlaceAgain says that another worker has the session now: the record and the events that
// tell it are one unit.
func (r *Remote) PlaceAgain(ctx context.Context, workerID string, epoch int, told func(events.Source) ([]events.Draft, error)) error {
	drafts, err := told(r.s.w.Events)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.host.WorkerID, r.host.Epoch = workerID, epoch
	r.mu.Unlock()
	r.s.writing.Lock()
	defer r.s.writing.Unlock()
	r.s.mu.Lock()
	r.s.record.WorkerID, r.s.record.Epoch, r.s.record.Reach = workerID, epoch, doc.ReachPlacing
	r.s.record.PID, r.s.record.UnreachableSinceMS = nil, nil
	r.s.mu.Unlock()
	r.s.placed = drafts
	return r.s.place(ctx)
}

// Append writes events into the run's log, durable when it returns.
func (r *Remote) Append(ctx context.Context, told func(events.Source) ([]events.Draft, error)) error {
	drafts, err := told(r.s.w.Events)
	if err != nil {
		return err
	}
	return r.s.w.Append(ctx, workspace.LogFile(r.s.order.ProjectID, r.s.order.RunID), drafts...)
}

// recordRepo records the state of the repository here, as at any launch.
func (r *Remote) recordRepo(ctx context.Context) error {
	root, err := r.Root()
	if err != nil {
		return err
	}
	return r.s.recordRepo(ctx, root)
}

// Begin writes into the run what is executed over there, from which commit.
func (r *Remote) Begin(ctx context.Context, spec *doc.Spec, base string) error {
	r.s.spec = spec
	return r.s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(r.s.order.ProjectID, r.s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil || doc.Terminal(run.Status) {
			return err
		}
		run.Spec, run.WorktreeBase, run.ModelProfile = spec, base, r.s.order.ModelProfile
		if t := r.s.order.Worktree; t != nil && t.Base != "" { // it may go on from what another session left
			run.WorktreeBase, run.WorktreeSnapshot = t.Base, t.Snapshot
		}
		r.s.beginLive(&run)
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	})
}

// watchBudget begins to watch what the session reports: over a hard limit, the worker is
// told to stop it.
func (r *Remote) watchBudget() {
	b := r.s.watchBudget()
	b.mu.Lock()
	b.stop = func() { r.RequestStop(false) }
	b.mu.Unlock()
	r.s.budget = b
}

// Allowance is what the session may still spend, where so many live sessions share its
// limits; nil where no hard limit holds.
func (r *Remote) Allowance(sharing budget.Sharing) *budget.Allowance {
	b := r.s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	var spent budget.Spend
	others := budget.Totals{}
	if b.spent != nil {
		spent = *b.spent
	}
	if b.others != nil {
		others = *b.others
	}
	return b.limits.Left(spent, others, sharing)
}

// Close releases the socket and the locks. Without an End before it the session goes on,
// and the next hub takes it over.
func (r *Remote) Close() error {
	if r.s.budget != nil {
		r.s.budget.close()
	}
	close(r.gone)
	if !r.Ended() {
		r.s.socket.drop() // who waits for the end asks the next hub
	}
	return errors.Join(r.s.close(), r.hold.Release())
}

// marker is the stop marker of a session's run, in the workspace.
func marker(o session.Order) string {
	return path.Join(workspace.ProjectDir(o.ProjectID), session.StopMarker(o.RunID))
}

// StopMarked reports whether the stop marker of the run is there, by which a stop is known
// that no hub was told.
func (r *Remote) StopMarked() bool { return r.s.w.Exists(marker(r.s.order)) }

// Saw takes an event of the session that is in the log: what the provider reported that it
// used counts for the budgets.
func (r *Remote) Saw(kind string, payload []byte) {
	if kind != events.UsageReported {
		return
	}
	if u, ok := session.ReportedUsage(payload); ok {
		r.s.budget.reported(&u, r.s.prior)
	}
}
