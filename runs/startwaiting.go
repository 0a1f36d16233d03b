package runs

// Starting a session for texts that wait in the log of a run, whatever became of the run
// since they were said.

import (
	"context"
	"slices"
	"time"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Bounds of the tries to start a session while others start or end one.
const (
	startTries = 50
	startPause = 100 * time.Millisecond
)

// StartWaiting has the texts that wait in the log of a run said, one turn each: by the
// session that lives, else by one that it starts. A refusal discards them. Texts that
// something else than a refusal hinders wait on.
func StartWaiting(ctx context.Context, w *workspace.Workspace, a *Admission, starter Starter, spec ContinueSpec) error {
	for range startTries {
		waiting, err := waitingTurns(w, spec.ProjectID, spec.RunID)
		if err != nil || len(waiting) == 0 {
			return err
		}
		run, record, live, err := Living(ctx, w, spec.ProjectID, spec.RunID)
		switch {
		case err != nil:
			return err
		case live && record.Driver != "":
			err = session.TakeMore(ctx, w, record)
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
		case elsewhere(w, spec, err):
		case slices.Contains([]fault.Reason{fault.Internal, fault.IO, fault.ShuttingDown}, fault.ReasonOf(err)):
			return err // nobody refused
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

// waitingTurns are the texts that wait in the log of a run and have turns of their own.
func waitingTurns(w *workspace.Workspace, project, run string) ([]session.WaitingText, error) {
	list, err := session.WaitingTexts(w, project, run)
	return slices.DeleteFunc(list, func(t session.WaitingText) bool { return t.Mode != session.ModeAfterTurn }), err
}

// startFor launches a run that never executed, and goes on with any other.
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

// elsewhere reports whether an error says that somebody else starts or ends a session of
// the run, so that it may be otherwise in a moment.
func elsewhere(w *workspace.Workspace, spec ContinueSpec, err error) bool {
	reason := fault.ReasonOf(err)
	if slices.Contains([]fault.Reason{fault.RunBusy, fault.RunNotLive, fault.SupervisorUnreachable}, reason) {
		return true
	}
	// Nothing else waits any more, or the run began or ended meanwhile.
	return (reason == fault.Conflict || reason == fault.InvalidParams) && session.RunAlive(w, spec.ProjectID, spec.RunID)
}

// discardWaiting ends the texts that wait, since no session can be started for them. It
// returns why. Nothing is discarded beside a session that was started meanwhile.
func discardWaiting(ctx context.Context, w *workspace.Workspace, spec ContinueSpec, refusal error) error {
	log := workspace.LogFile(spec.ProjectID, spec.RunID)
	err := w.Update(ctx, func(u *workspace.Unit) error {
		if session.RunAlive(w, spec.ProjectID, spec.RunID) {
			return nil
		}
		waiting, err := waitingTurns(w, spec.ProjectID, spec.RunID)
		for _, text := range waiting {
			d, err := session.Refused(w.Events, spec.RunID, text.ID, refusal)
			if err != nil {
				return err
			}
			u.Append(log, d)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.NotifyAppend(log)
	return refusal
}
