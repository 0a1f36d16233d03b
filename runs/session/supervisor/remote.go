package supervisor

// Sessions whose provider runs on another machine. The hub takes the supervisor's place: it holds
// the locks, writes the record and the end, and answers at the socket. A worker reports what
// happens on its machine.

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

// RemoteHost holds what a session on another machine needs from its hub.
type RemoteHost struct {
	WorkerID string
	Epoch    int
	// Verb executes a socket verb on the worker, except state, wait and stop. It returns once its
	// effects are in the run's log.
	Verb func(ctx context.Context, verb string, params json.RawMessage) (result json.RawMessage, err error)
	// Stop is called when a caller or a budget wants the session to end: at the first request,
	// and again for each request of a caller. The returned note is for the requester, "" for
	// none. Stop must not block.
	Stop func(byCaller bool) (note string)
}

// Remote is a session on another machine. Its methods are safe for concurrent use, except End and
// Close, which one goroutine calls once each, in this order.
type Remote struct {
	s    *supervisor
	host RemoteHost
	hold *session.Claim

	gone chan struct{} // closed when the hub releases the session

	mu           sync.Mutex // guards the fields below and host's WorkerID and Epoch
	stopNotified bool       // the hub was notified of the stop
	note         string
}

// AcceptRemote takes a session's locks, writes its record and the events placed as one unit, and
// serves its socket. A nil Remote is a refusal: nothing was written. An error with a Remote means
// that the repository's state was not recorded.
func AcceptRemote(ctx context.Context, w *workspace.Workspace, host RemoteHost, order session.Order, placed func(events.Source) ([]events.Draft, error)) (*Remote, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	hold, err := takeClaimWithRetry(ctx, w, order)
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

// ResumeRemote takes over a session whose hub ended. The order is the one it was started with.
func ResumeRemote(ctx context.Context, w *workspace.Workspace, host RemoteHost, order session.Order) (*Remote, error) {
	hold, err := session.TakeClaim(w, order.ProjectID, order.RunID, order.SessionRef)
	if err != nil {
		return nil, fmt.Errorf("take the locks of session %s: %w", order.SessionRef, err)
	}
	if err := w.Recover(ctx); err != nil { // recording the end may have been interrupted
		return nil, errors.Join(err, hold.Release())
	}
	record, err := session.Read(w, order.SessionRef)
	if err == nil && (record.WorkerID != host.WorkerID || record.Epoch != host.Epoch) && !isEarlierAttempt(record, host) {
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

// isEarlierAttempt reports whether a record is of an earlier epoch than the attempt: the session was
// being placed again, and PlaceAgain did not complete.
func isEarlierAttempt(record doc.Session, host RemoteHost) bool {
	return record.WorkerID != "" && record.Epoch < host.Epoch && !doc.Terminal(record.Status)
}

// RecordedAttempt returns the attempt that the session's record names. due reports whether PlaceAgain
// still has to run for the host's attempt.
func (r *Remote) RecordedAttempt() (workerID string, epoch int, due bool) {
	record := r.s.snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	return record.WorkerID, record.Epoch, isEarlierAttempt(record, r.host)
}

func newRemote(w *workspace.Workspace, host RemoteHost, order session.Order, hold *session.Claim) *Remote {
	s := &supervisor{w: w, order: order, secrets: redact.FromEnviron(session.EnvironOf(order)), allowance: &allowance{},
		stop: make(chan struct{}), ended: make(chan struct{}), talkReady: make(chan struct{}),
	}
	r := &Remote{s: s, host: host, hold: hold, gone: make(chan struct{})}
	s.remote = r
	return r
}

// place writes the record together with the events that report the session's placement.
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

// serve answers a request at the socket.
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

// RequestStop requests the end of the session from the worker. byCaller makes that end a stop
// rather than a failure.
func (r *Remote) RequestStop(byCaller bool) {
	r.s.requestStop(byCaller)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopNotified || byCaller {
		r.stopNotified = true
		r.note = r.host.Stop(byCaller)
	}
}

// Snapshot returns a copy of the current record.
func (r *Remote) Snapshot() doc.Session { return r.s.snapshot() }

// reported returns the record for a socket client. It carries the note of a pending stop.
func (r *Remote) reported() doc.Session {
	record := r.s.snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !doc.Terminal(record.Status) && record.Error == "" {
		record.Error = r.note
	}
	return record
}

// Amend changes the session's record. With durable, the change is durable on return if it could
// be written.
func (r *Remote) Amend(durable bool, change func(*doc.Session)) { r.s.amend(durable, change) }

// PlaceAgain records that another worker has the session now: the record and the events from
// told, as one unit.
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

// Append appends events to the run's log. They are durable on return.
func (r *Remote) Append(ctx context.Context, told func(events.Source) ([]events.Draft, error)) error {
	drafts, err := told(r.s.w.Events)
	if err != nil {
		return err
	}
	return r.s.w.Append(ctx, workspace.LogFile(r.s.order.ProjectID, r.s.order.RunID), drafts...)
}

// recordRepo records the repository's state on this machine, as any launch does.
func (r *Remote) recordRepo(ctx context.Context) error {
	root, err := r.Root()
	if err != nil {
		return err
	}
	return r.s.recordRepo(ctx, root)
}

// Begin writes into the run's record what the worker executes, and from which commit.
func (r *Remote) Begin(ctx context.Context, spec *doc.Spec, base string) error {
	r.s.spec = spec
	return r.s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(r.s.order.ProjectID, r.s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil || doc.Terminal(run.Status) {
			return err
		}
		run.Spec, run.WorktreeBase, run.ModelProfile = spec, base, r.s.order.ModelProfile
		if t := r.s.order.Worktree; t != nil && t.Base != "" { // it may continue from another session's snapshot
			run.WorktreeBase, run.WorktreeSnapshot = t.Base, t.Snapshot
		}
		r.s.beginLive(&run)
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	})
}

// watchBudget starts a watch on what the session reports. Over a hard limit, the watch requests a
// stop from the worker.
func (r *Remote) watchBudget() {
	b := r.s.watchBudget()
	b.mu.Lock()
	b.stop = func() { r.RequestStop(false) }
	b.mu.Unlock()
	r.s.budget = b
}

// Allowance returns what the session may still spend, given how live sessions share its limits.
// It returns nil if no hard limit applies.
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

// Close releases the socket and the locks. Without a preceding End the session continues, and the
// next hub takes it over.
func (r *Remote) Close() error {
	if r.s.budget != nil {
		r.s.budget.close()
	}
	close(r.gone)
	if !r.Ended() {
		r.s.socket.drop() // clients waiting for the end ask the next hub
	}
	return errors.Join(r.s.close(), r.hold.Release())
}

// marker returns the path of the run's stop marker in the workspace.
func marker(o session.Order) string {
	return path.Join(workspace.ProjectDir(o.ProjectID), session.StopMarker(o.RunID))
}

// StopMarked reports whether the run's stop marker exists. It carries a stop requested while no
// hub was running.
func (r *Remote) StopMarked() bool { return r.s.w.Exists(marker(r.s.order)) }

// HandleEvent receives an event of the session that is in the log. Usage that the provider reported
// counts toward the budgets.
func (r *Remote) HandleEvent(kind string, payload []byte) {
	if kind != events.UsageReported {
		return
	}
	if u, ok := session.ReportedUsage(payload); ok {
		r.s.budget.reported(&u, r.s.prior)
	}
}
