package supervisor

// The end of a session on another machine: reported by the worker, or decided here because nobody
// waits for the worker any longer.

import (
	"context"
	"encoding/json"
	"slices"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// RemoteEnd describes how a session ended.
type RemoteEnd struct {
	Status       string
	ExitCode     *int
	Signal       *string
	Stopped      bool
	Orphaned     bool
	Error        string
	ErrorKind    string
	RetryAfterMS *int64
	Reason       string
	Usage        *doc.Usage // of the whole run, earlier sessions included
	Cycles       *doc.ContextCycles
	Live         *doc.Live
	Conversation string
	// CompletionStatus and CompletionError describe how a live session's last turn ended.
	CompletionStatus, CompletionError string
	// Before holds the events to append before the closing event: those the worker wrote itself,
	// in order, then the outcome of its results. None is in the log yet.
	Before []events.Draft
	// Lost means that nobody reported the end. End closes what the log left open and counts the
	// usage reported there.
	Lost bool
	// Reach is the reachability that the record holds afterwards.
	Reach string
}

// remotePayload is the closing payload of a session on another machine.
type remotePayload struct {
	endedPayload
	Orphaned bool   `json:"orphaned,omitempty"`
	Reason   string `json:"reason,omitempty"`
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
}

// remoteLivePayload is the remotePayload of a live session.
type remoteLivePayload struct {
	remotePayload
	CompletionStatus *string `json:"completion_status"`
	CompletionError  *string `json:"completion_error"`
}

// End records how the session ended: the run's record, the closing events and the session's
// record, as one unit. It decides the run's budgets within that unit.
func (r *Remote) End(ctx context.Context, e RemoteEnd) error {
	s := r.s
	now := s.w.Env.Clock.Now()
	record := s.snapshot()
	if e.Status == doc.StatusStopped && s.isStopRequested() && !s.isStoppedByCaller() {
		e.Status, e.Stopped = doc.StatusFailed, false // a budget stopped it, not a caller
	}
	record.Status, record.ExitCode, record.Signal, record.EndedAtMS = e.Status, e.ExitCode, e.Signal, new(now.UnixMilli())
	record.Error, record.ErrorKind, record.RetryAfterMS, record.Reason = e.Error, e.ErrorKind, e.RetryAfterMS, e.Reason
	record.Reach, record.UnreachableSinceMS, record.Activity = e.Reach, nil, ""

	c := session.Closing{Record: &record, Status: e.Status, At: now, Usage: e.Usage, Cycles: e.Cycles, Conversation: e.Conversation}
	before := e.Before
	if e.Lost {
		told, err := r.fillFromLog(&c)
		if err != nil {
			return err
		}
		before = append(before, told...)
	}
	var err error
	if c.CountedLog, err = (session.CountedLog{}).Count(s.w, workspace.LogFile(s.order.ProjectID, s.order.RunID)); err != nil {
		return err
	}
	decide := s.budgetDecider(&c)
	err = s.w.Update(ctx, func(u *workspace.Unit) error {
		told, exceeded, err := decide()
		if err != nil {
			return err
		}
		last, err := s.draft("run."+c.Status, r.lastPayload(e, record, exceeded))
		if err != nil {
			return err
		}
		c.Events = slices.Concat(before, told, []events.Draft{last})
		for i := range c.Events {
			c.Events[i].At = now // one timestamp, so that the log's times never go backwards
		}
		if err := r.mergeLive(u, e.Live); err != nil {
			return err
		}
		return session.CloseRun(u, c)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.record = record
	s.mu.Unlock()
	close(s.ended)
	return nil
}

// Ended reports whether the end is recorded.
func (r *Remote) Ended() bool {
	select {
	case <-r.s.ended:
		return true
	default:
		return false
	}
}

// fillFromLog fills in, from the log, what a worker would have reported.
func (r *Remote) fillFromLog(c *session.Closing) ([]events.Draft, error) {
	open, err := session.ReadOpenEnds(r.s.w, *c.Record)
	if err != nil {
		return nil, err
	}
	told, err := open.Closings(r.s.w.Events, events.Draft{At: c.At, RunID: c.Record.RunID, SessionRef: c.Record.Ref, Actor: events.ActorSystem})
	if err != nil {
		return nil, err
	}
	if c.Usage, err = session.LastReported(r.s.w, workspace.LogFile(c.Record.ProjectID, c.Record.RunID)); err != nil {
		return nil, err
	}
	if c.Usage != nil {
		// Its price goes into the record only. The log gets no further usage event.
		if err := session.Price(r.s.w, c.Usage, func(string, any) error { return nil }); err != nil {
			return nil, err
		}
	}
	c.Usage = session.SumUsage(r.s.prior, c.Usage)
	return told, nil
}

func (r *Remote) lastPayload(e RemoteEnd, record doc.Session, exceeded bool) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := remotePayload{
		endedPayload: endedPayload{
			ExitCode: e.ExitCode, Signal: e.Signal, Stopped: e.Stopped, BudgetExceeded: exceeded, Error: record.Error, ErrorKind: record.ErrorKind,
		},
		Orphaned: e.Orphaned, Reason: e.Reason, WorkerID: r.host.WorkerID, Epoch: r.host.Epoch,
	}
	if r.s.order.Live == nil || e.Lost {
		return p
	}
	return remoteLivePayload{p, orNull(e.CompletionStatus), orNull(e.CompletionError)}
}

// mergeLive copies into the run's record what the worker learned of a conversation. The hub's own
// fields stay: the session count, the prior usage and the policy.
func (r *Remote) mergeLive(u *workspace.Unit, live *doc.Live) error {
	if live == nil || r.s.order.Live == nil {
		return nil
	}
	file := workspace.RunFile(r.s.order.ProjectID, r.s.order.RunID)
	run, err := workspace.LoadIn(u, doc.RunCodec, file)
	if fault.Is(err, fault.NotFound) || err == nil && (doc.Terminal(run.Status) || run.Live == nil) {
		return nil
	}
	if err != nil {
		return err
	}
	merged := *live
	merged.Sessions, merged.PriorUsage, merged.Policy = run.Live.Sessions, run.Live.PriorUsage, run.Live.Policy
	run.Live = &merged
	return workspace.Put(u, doc.RunCodec, file, run, 0o644)
}

// Root returns the directory of the session's repository on this machine.
func (r *Remote) Root() (string, error) {
	machine, err := r.s.w.Machine()
	if err != nil {
		return "", err
	}
	return worktree.Root(machine, r.s.order.RepoID)
}

// completion is the part of a closing payload that describes how the last turn ended.
type completion struct {
	Status *string `json:"completion_status"`
	Error  *string `json:"completion_error"`
}

// SetCompletion fills in how the last turn ended, from the closing event of the worker's own log.
func (e *RemoteEnd) SetCompletion(last json.RawMessage) {
	var c completion
	if json.Unmarshal(last, &c) != nil {
		return
	}
	if c.Status != nil {
		e.CompletionStatus = *c.Status
	}
	if c.Error != nil {
		e.CompletionError = *c.Error
	}
}
