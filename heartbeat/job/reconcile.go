package job

// Reconciling jobs whose runner has died: their final state, or whether they continue.

import (
	"context"
	"errors"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// reconcile completes a job without a runner as far as possible without running anything. goOn
// reports that a new runner must continue it. That is only so if every attempt whose provider may
// have acted has a recorded end, or its session may still run. The caller holds the job's lock.
func reconcile(ctx context.Context, w *workspace.Workspace, p jobRef) (record doc.Job, goOn bool, err error) {
	// The end of the job may be in the journal.
	if err := w.Recover(ctx); err != nil {
		return record, false, err
	}
	if record, err = p.load(w); err != nil || record.Over() {
		return record, false, err
	}
	if result, err := stored(w, p.result(), bindResult); err == nil && result != nil && result.JobID == p.id {
		record, err = finish(ctx, w, p, jobEnd{result: *result, signals: Signals{Normalization: "schema_valid"}})
		return record, false, err
	}
	if record.CancellationRequested {
		return p.reconcileCanceled(ctx, w, record)
	}
	_, ours := p.owned(w)
	last := record.Last()
	if last == nil {
		return p.goOnIf(ctx, w, record, ours)
	}
	s, err := session.Current(ctx, w, last.SessionRef)
	switch {
	case fault.Is(err, fault.NotFound):
		return p.reconcileUnlaunched(ctx, w, *last, ours)
	case err != nil:
		return record, false, err
	case session.Live(w, s):
		return record, true, nil // a runner waits for its end
	}
	return p.reconcileEnded(ctx, w, record, ours)
}

func (p jobRef) goOnIf(ctx context.Context, w *workspace.Workspace, record doc.Job, may bool) (doc.Job, bool, error) {
	if may {
		return record, true, nil
	}
	record, err := finish(ctx, w, p, interruptedEnd())
	return record, false, err
}

// reconcileCanceled stops the session of a canceled job.
func (p jobRef) reconcileCanceled(ctx context.Context, w *workspace.Workspace, record doc.Job) (doc.Job, bool, error) {
	if last := record.Last(); last != nil {
		s, err := session.Stop(ctx, w, last.SessionRef)
		if s.Remote() && !doc.Terminal(s.Status) {
			return record, true, nil // a runner waits for its end, and for a hub that accepts the stop
		}
		if err == nil && session.Live(w, s) {
			_, err = session.Collect(ctx, w, last.SessionRef)
		}
		if fault.Is(err, fault.NotFound) {
			err = p.abandon(ctx, w, *last, doc.AttemptStopped, "stopped: the job was canceled before the launch")
		}
		if err != nil {
			return record, false, err
		}
	}
	record, err := finish(ctx, w, p, canceledEnd())
	return record, false, err
}

// reconcileUnlaunched ends an attempt that never had a session, so its worker did not act.
func (p jobRef) reconcileUnlaunched(ctx context.Context, w *workspace.Workspace, last doc.JobAttempt, ours bool) (doc.Job, bool, error) {
	var abandoned error
	if last.Status == doc.AttemptRunning {
		abandoned = p.abandon(ctx, w, last, doc.AttemptFailed, "its runner died before the launch")
		if abandoned != nil && !errors.Is(abandoned, errOwned) {
			return doc.Job{}, false, abandoned
		}
	}
	record, err := p.load(w)
	if err != nil || abandoned != nil {
		return record, abandoned != nil, err // a runner waits until the hub has decided
	}
	return p.goOnIf(ctx, w, record, ours && last.Attempt < attemptsOf(record))
}

// reconcileEnded decides by the last attempt, whose session has ended. If the worker may have acted
// and the attempt's end is not recorded, it records that end only together with the end of the job.
// Otherwise an attempt recorded as failed would be followed by another one.
func (p jobRef) reconcileEnded(ctx context.Context, w *workspace.Workspace, record doc.Job, ours bool) (doc.Job, bool, error) {
	if s, err := session.Read(w, record.Last().SessionRef); err == nil && s.Remote() && record.Last().Status == doc.AttemptRunning {
		// A hub observed its end, whatever happened to the runner.
		if record, err = p.recordEnd(ctx, w, record.Last().Attempt, attemptEnd{}); err != nil || record.Over() {
			return record, false, err
		}
	}
	last := *record.Last()
	recorded := last.Status != doc.AttemptRunning
	look := judge
	if !recorded {
		last.Status, last.Error = outcomeOf(w, p, last)
		last.EndedAt = clock.Stamp(w.Env.Clock.Now())
		if unseen(w, last) {
			look = judgeOutput
		}
	}
	found := look(w, p, promptRequestOf(record), last)
	var end jobEnd
	switch {
	case found.accepted != nil:
		end = acceptedEnd(w, promptRequestOf(record), *found.accepted, last.Attempt)
	case !recorded && neverActed(w, p.project, last.RunID):
		record, err := p.recordEnd(ctx, w, last.Attempt, attemptEnd{})
		if err != nil {
			return record, false, err
		}
		return p.goOnIf(ctx, w, record, ours && last.Attempt < attemptsOf(record))
	case recorded && ours && last.Attempt < attemptsOf(record):
		return record, true, nil
	case recorded && ours && answerKind(record.Order) == doc.AnswerProse:
		end = proseFailed(found.issues)
	case recorded && ours:
		end = exhaustedEnd(found.issues, attemptsOf(record))
	default:
		end = interruptedEnd()
	}
	end.last = &last
	record, err := finish(ctx, w, p, end)
	return record, false, err
}

// unseen reports whether no process observed how the session of an attempt ended. An answer that
// the worker wrote before that still counts.
func unseen(w *workspace.Workspace, a doc.JobAttempt) bool {
	s, err := session.Read(w, a.SessionRef)
	return err == nil && s.Status == doc.StatusFailed && s.ExitCode == nil && s.Signal == nil
}

// neverActed reports whether a run's provider certainly never started. The run's spec is always
// written before the provider starts.
func neverActed(w *workspace.Workspace, project, run string) bool {
	record, err := runs.Load(w, project, run)
	return err == nil && record.Spec == nil
}

// abandonedPayload closes the log of a run that was never launched.
type abandonedPayload struct {
	Preflight bool    `json:"preflight"`
	Reason    string  `json:"reason"`
	ExitCode  *int    `json:"exit_code"`
	Signal    *string `json:"signal"`
	Stopped   bool    `json:"stopped"`
}

// abandon ends an attempt whose session was never launched, and its run, in one unit.
func (p jobRef) abandon(ctx context.Context, w *workspace.Workspace, a doc.JobAttempt, status, why string) error {
	payload := abandonedPayload{Preflight: true, Reason: "launch_preflight_failed", Stopped: status == doc.AttemptStopped}
	return p.closeAttempt(ctx, w, a, payload, func(a *doc.JobAttempt) { a.Status, a.Error = status, why })
}

// closeAttempt ends an attempt without a session, in one unit: its record, its run and the run's
// log.
func (p jobRef) closeAttempt(ctx context.Context, w *workspace.Workspace, a doc.JobAttempt, payload abandonedPayload, change func(*doc.JobAttempt)) error {
	now := w.Env.Clock.Now()
	status := doc.StatusFailed
	if payload.Stopped {
		status = doc.StatusStopped
	}
	draft, err := w.Events.Draft(events.Draft{
		At: now, RunID: a.RunID, SessionRef: a.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityManagers,
		Type: "run." + status,
	}, payload)
	if err != nil {
		return err
	}
	return w.Update(ctx, func(u *workspace.Unit) error {
		record, err := p.loadIn(u)
		if err != nil || record.Over() {
			return err
		}
		at := attemptIn(&record, a.Attempt)
		if at == nil {
			return fault.New(fault.InvalidFile, "%s has no attempt %d", p.record(), a.Attempt)
		}
		if session.RunAlive(w, p.project, a.RunID) {
			return errOwned // a hub owns it, and is just accepting it
		}
		change(at)
		at.EndedAt = clock.Stamp(now)
		if err := p.put(u, record); err != nil {
			return err
		}
		return runs.EndIn(u, p.project, a.RunID, status, draft)
	})
}

func attemptIn(record *doc.Job, n int) *doc.JobAttempt {
	for i := range record.Attempts {
		if record.Attempts[i].Attempt == n {
			return &record.Attempts[i]
		}
	}
	return nil
}

// attemptEnd is what a runner knows about the end of an attempt beyond the records of run and
// session.
type attemptEnd struct {
	failed string // why the runner ended it, "" if it did not
	about  func(*doc.JobAttempt)
}

// recordEnd records the end of an attempt whose session has ended.
func (p jobRef) recordEnd(ctx context.Context, w *workspace.Workspace, n int, end attemptEnd) (record doc.Job, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if record, err = p.loadIn(u); err != nil || record.Over() {
			return err
		}
		a := attemptIn(&record, n)
		if a == nil {
			return fault.New(fault.InvalidFile, "%s has no attempt %d", p.record(), n)
		}
		if end.about != nil {
			end.about(a)
		}
		a.EndedAt = clock.Stamp(w.Env.Clock.Now())
		a.Status, a.Error = outcomeOf(w, p, *a)
		switch {
		case end.failed != "":
			a.Status, a.Error = doc.AttemptFailed, end.failed
		case record.CancellationRequested:
			a.Status, a.Error = doc.AttemptStopped, "stopped: the job was canceled"
		}
		return p.put(u, record)
	})
	return record, err
}

// outcomeOf returns how the session of an attempt ended.
func outcomeOf(w *workspace.Workspace, p jobRef, a doc.JobAttempt) (status, why string) {
	run, err := runs.Load(w, p.project, a.RunID)
	if err != nil {
		return doc.AttemptFailed, err.Error()
	}
	s, err := session.Read(w, a.SessionRef)
	if err != nil {
		return doc.AttemptFailed, err.Error()
	}
	switch {
	case run.Status == doc.StatusEnded && s.ExitCode != nil && *s.ExitCode == 0:
		return doc.AttemptEnded, ""
	case run.Status == doc.StatusStopped:
		return doc.AttemptFailed, "its session was stopped"
	}
	return doc.AttemptFailed, explain(w, p, a, s)
}

var errCanceled = errors.New("the job was canceled")
