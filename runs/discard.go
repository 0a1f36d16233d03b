package runs

// Discarding runs that were never launched.

import (
	"context"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// neverStartedPayload is the payload of the closing event of a run that was never launched.
type neverStartedPayload struct {
	ExitCode *int    `json:"exit_code"`
	Signal   *string `json:"signal"`
	Stopped  bool    `json:"stopped"`
	Reason   string  `json:"reason"`
}

// Discard ends a run that was created and never launched. It writes status and event in one
// unit, durable on return. A finished run stays as it is. The error is fault.RunBusy for a run
// that was launched. actor is the actor of the event.
func Discard(ctx context.Context, w *workspace.Workspace, project, runID, actor string) (status string, err error) {
	if _, err := Load(w, project, runID); err != nil {
		return "", err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(project, runID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		if status = run.Status; doc.Terminal(status) {
			return nil
		}
		begun, err := wasLaunched(w, run)
		if err != nil {
			return err
		}
		if begun {
			return fault.New(fault.RunBusy, "run %s was launched; stop its session instead", runID)
		}
		now := w.Env.Clock.Now()
		draft, err := w.Events.Draft(events.Draft{
			At: now, RunID: runID, SessionRef: session.LocalRef(runID), Actor: actor, Visibility: events.VisibilityOrg, Type: events.RunStopped,
		}, neverStartedPayload{Stopped: true, Reason: "never_started"})
		if err != nil {
			return err
		}
		run.Status, run.EndedAt = doc.StatusStopped, clock.Stamp(now)
		if err := workspace.Put(u, doc.RunCodec, file, run, 0o644); err != nil {
			return err
		}
		u.Append(workspace.LogFile(project, runID), draft)
		status = run.Status
		return nil
	})
	if err == nil {
		w.NotifyAppend(workspace.LogFile(project, runID))
	}
	return status, err
}

// wasLaunched reports whether a run was ever launched.
func wasLaunched(w *workspace.Workspace, run doc.Run) (bool, error) {
	if run.Spec != nil || session.RunAlive(w, run.ProjectID, run.ID) {
		return true, nil
	}
	records, err := session.All(w)
	if err != nil {
		return false, err
	}
	for _, r := range records {
		if r.ProjectID == run.ProjectID && r.RunID == run.ID {
			return true, nil
		}
	}
	return false, nil
}

// NewRun identifies a run that was created and never launched.
type NewRun struct {
	ProjectID string
	RunID     string
	CreatedAt string
}

// ListNew lists the runs that were created before an instant and never launched.
func ListNew(w *workspace.Workspace, before time.Time) (list []NewRun, err error) {
	listed, err := List(w, "")
	if err != nil {
		return nil, err
	}
	records, err := session.All(w)
	if err != nil {
		return nil, err
	}
	launched := map[[2]string]bool{}
	for _, r := range records {
		launched[[2]string{r.ProjectID, r.RunID}] = true
	}
	for _, l := range listed {
		at, ok := clock.Parse(l.CreatedAt)
		if l.Status != doc.StatusRunning || !ok || !at.Before(before) || launched[[2]string{l.ProjectID, l.RunID}] {
			continue
		}
		if run, err := Load(w, l.ProjectID, l.RunID); err != nil || run.Spec != nil || session.RunAlive(w, l.ProjectID, l.RunID) {
			continue
		}
		list = append(list, NewRun{l.ProjectID, l.RunID, l.CreatedAt})
	}
	return list, nil
}
