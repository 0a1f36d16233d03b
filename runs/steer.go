package runs

// Saying something to a run, whatever it is doing.

import (
	"context"
	"encoding/json"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Steer says something to the agent of a run. What is said is durable when it returns.
// A text for a command waits for the next continuation. starts: so does one for a run
// without a session, which the caller is to start.
func Steer(ctx context.Context, w *workspace.Workspace, a Act, p session.SteerRequest, starts bool) (session.SteerResult, error) {
	var none session.SteerResult
	run, record, live, err := Living(ctx, w, a.ProjectID, a.RunID)
	if err != nil {
		return none, err
	}
	if !live || record.Driver == "" {
		if known, ok, err := SaidBefore(w, run, p.ClientMessageID); ok || err != nil {
			return known, err
		}
	}
	if err := mayAct(ctx, w, run, a.Actor); err != nil {
		return none, err
	}
	p.Actor = a.Actor.ID
	if live && record.Driver != "" {
		result, err := session.Steer(ctx, w, record, p)
		if !starts || !fault.Is(err, fault.RunNotLive) { // that session was just ending
			return result, err
		}
	}
	if starts || isCommand(run) {
		return queueForLaunch(ctx, w, run, p)
	}
	return none, notLive(a.RunID)
}

// isCommand reports whether what a run executed was a command, which nothing can be
// said to.
func isCommand(run doc.Run) bool {
	return run.Spec != nil && run.Spec.Kind == doc.KindCommand && (run.Live == nil || run.Live.Driver == "" || run.Live.Driver == session.DriverCommand)
}

// SaidBefore is the result of a text that its client said before.
func SaidBefore(w *workspace.Workspace, run doc.Run, client string) (result session.SteerResult, ok bool, err error) {
	if client == "" {
		return result, false, nil
	}
	err = session.EachEvent(w, workspace.LogFile(run.ProjectID, run.ID), func(kind string, line []byte) {
		if ok || kind != events.SteerQueued {
			return
		}
		var e struct {
			Payload session.SteerEvent `json:"payload"`
		}
		if json.Unmarshal(line, &e) == nil && e.Payload.ClientMessageID == client {
			result, ok = e.Payload.Result(), true
		}
	})
	return result, ok, err
}

// queueForLaunch keeps a text until the run is gone on with.
func queueForLaunch(ctx context.Context, w *workspace.Workspace, run doc.Run, p session.SteerRequest) (session.SteerResult, error) {
	event, draft, err := session.QueueText(w, run, p)
	if err != nil {
		return session.SteerResult{}, err
	}
	if err := w.Append(ctx, workspace.LogFile(run.ProjectID, run.ID), draft); err != nil {
		return session.SteerResult{}, err
	}
	w.NotifyAppend(workspace.LogFile(run.ProjectID, run.ID))
	return event.Result(), nil
}
