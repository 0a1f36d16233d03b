package runs

// Starting a session for messages that wait in the log of a run, whatever has happened to the
// run since.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Bounds of the retries while others start or end a session.
const (
	startTries = 50
	startPause = 100 * time.Millisecond
)

// StartWaiting delivers the messages that wait in the log of a run, one turn each. The live
// session delivers them, else StartWaiting starts one. A refusal discards them. After any other
// error they remain waiting.
func StartWaiting(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, spec ContinueSpec) error {
	for range startTries {
		waiting, err := waitingTurns(w, spec.ProjectID, spec.RunID)
		if err != nil || len(waiting) == 0 {
			return err
		}
		run, record, live, err := LiveSession(ctx, w, spec.ProjectID, spec.RunID)
		switch {
		case err != nil:
			return err
		case live && record.Driver != "":
			err = session.LoadMoreTexts(ctx, w, record)
			if fault.Is(err, fault.RunNotLive) { // the session is ending: wait for it, however long that takes
				if _, notOver := session.Collect(ctx, w, record.Ref); notOver == nil {
					continue
				}
			}
		case live:
			_, err = session.Collect(ctx, w, record.Ref)
			if err == nil {
				continue
			}
		default:
			err = startFor(ctx, w, a, starter, run, spec)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch {
		case lostRace(w, run, err):
		case slices.Contains([]fault.Reason{fault.Internal, fault.IO, fault.ShuttingDown, fault.HubNotRunning}, fault.ReasonOf(err)):
			return err // not a refusal
		default:
			return discardWaiting(ctx, w, spec, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(startPause):
		}
	}
	return fault.New(fault.Conflict, "run %s has sessions of others all the time", spec.RunID)
}

// waitingTurns returns the messages that wait in the log of a run for turns of their own.
func waitingTurns(w *workspace.Workspace, project, run string) ([]session.WaitingText, error) {
	list, err := session.WaitingTexts(w, project, run)
	return slices.DeleteFunc(list, func(t session.WaitingText) bool { return t.Mode != session.ModeAfterTurn }), err
}

// startFor launches a run that never executed, and continues any other.
func startFor(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, run doc.Run, spec ContinueSpec) error {
	spec.Prompt, spec.Waits = nil, true
	if doc.Terminal(run.Status) {
		_, err := Continue(ctx, w, a, starter, spec)
		return err
	}
	if spec.SessionRef == "" {
		spec.SessionRef = session.LocalRef(run.ID)
	}
	return Launch(ctx, w, a, starter, spec.LaunchSpec)
}

// lostRace reports whether err means that another process is starting or ending a session of
// the run, or has done so since before was read. A retry may then succeed.
func lostRace(w *workspace.Workspace, before doc.Run, err error) bool {
	reason := fault.ReasonOf(err)
	if slices.Contains([]fault.Reason{fault.RunBusy, fault.RunNotLive, fault.SupervisorUnreachable}, reason) {
		return true
	}
	if reason != fault.Conflict && reason != fault.InvalidParams {
		return false
	}
	if session.RunAlive(w, before.ProjectID, before.ID) {
		return true
	}
	now, err := Load(w, before.ProjectID, before.ID)
	return err == nil && (now.Status != before.Status || sessionsOf(now) != sessionsOf(before))
}

// discardWaiting discards the waiting messages, because no session can be started for them. It
// returns the refusal, or nil if another process delivered the messages in the meantime. It
// discards nothing while another session of the run is alive, and waits until one that has ended
// releases the run.
func discardWaiting(ctx context.Context, w *workspace.Workspace, spec ContinueSpec, refusal error) error {
	for range startTries {
		alone, left, err := discardAlone(ctx, w, spec, refusal)
		switch {
		case err != nil:
			return err
		case alone && left == 0:
			return nil
		case alone:
			return refusal
		}
		if _, _, live, err := LiveSession(ctx, w, spec.ProjectID, spec.RunID); live || err != nil {
			return cmp.Or(err, refusal)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(startPause / 10):
		}
	}
	return refusal
}

// discardAlone discards the waiting messages and counts them, unless a process owns the run.
func discardAlone(ctx context.Context, w *workspace.Workspace, spec ContinueSpec, refusal error) (alone bool, left int, err error) {
	log := workspace.LogFile(spec.ProjectID, spec.RunID)
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if alone = !session.RunAlive(w, spec.ProjectID, spec.RunID); !alone {
			return nil
		}
		waiting, err := waitingTurns(w, spec.ProjectID, spec.RunID)
		left = len(waiting)
		for _, text := range waiting {
			d, err := session.RefusedTextEvent(w.Events, spec.RunID, text.ID, refusal)
			if err != nil {
				return err
			}
			u.Append(log, d)
		}
		return err
	})
	if err == nil && left > 0 {
		w.NotifyAppend(log)
	}
	return alone, left, err
}
