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
	if live && record.Driver != "" && starts {
		// Who kept it in the log may have died before the session heard of it. What was decided
		// stands there since mayAct, which settles the journal.
		if known, ok, err := SaidBefore(w, run, p.ClientMessageID); ok || err != nil {
			return known, err
		}
	}
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

// SaidBefore is the result of a text that its client said before, in whichever way.
func SaidBefore(w *workspace.Workspace, run doc.Run, client string) (session.SteerResult, bool, error) {
	before, ok, err := saidBefore(w, run, client)
	return before.steer, ok, err
}

// saidOnce is what became of something that was said to a run, as each of the ways to say it
// is answered.
type saidOnce struct {
	steer     session.SteerResult
	continued ContinueResult
}

// saidBefore looks in the log of a run for what its client said under an id: as a text,
// a prompt or a continuation. It holds for ever.
func saidBefore(w *workspace.Workspace, run doc.Run, client string) (before saidOnce, ok bool, err error) {
	if client == "" {
		return before, false, nil
	}
	now := ContinueResult{Session: 1}
	err = session.EachEvent(w, workspace.LogFile(run.ProjectID, run.ID), func(kind string, line []byte) {
		var e struct {
			Ref     string `json:"session_ref"`
			Payload struct {
				session.SteerEvent
				Cause       string `json:"cause"`
				ThreadID    string `json:"thread_id"`
				Resumed     string `json:"resumed"`
				ResumeError string `json:"resume_error"`
			} `json:"payload"`
		}
		switch kind {
		case events.RunContinued:
			now = ContinueResult{Session: now.Session + 1}
			return
		case events.AgentStarted, events.SteerQueued, events.TurnStarted:
		default:
			return
		}
		p := &e.Payload
		switch err := json.Unmarshal(line, &e); {
		case ok || err != nil:
		case kind == events.AgentStarted:
			now.ThreadID, now.Resumed, now.ResumeError = p.ThreadID, p.Resumed, p.ResumeError
		case p.ClientMessageID != client:
		default:
			ok, before.continued = true, now
			before.continued.SessionRef, before.continued.Turn = e.Ref, p.Turn
			if p.Cause != session.CauseContinue {
				before.continued.Resumed, before.continued.ResumeError = "live", ""
			}
			if before.steer = p.Result(); kind == events.TurnStarted {
				before.steer = session.SaidAsPrompt(p.Turn)
			}
		}
	})
	return before, ok, err
}

// queueForLaunch keeps a text until the run is gone on with.
func queueForLaunch(ctx context.Context, w *workspace.Workspace, run doc.Run, p session.SteerRequest) (session.SteerResult, error) {
	var result session.SteerResult
	err := w.Update(ctx, func(u *workspace.Unit) error {
		known, ok, err := SaidBefore(w, run, p.ClientMessageID) // perhaps at the same time
		if ok || err != nil {
			result = known
			return err
		}
		event, draft, err := session.QueueText(w, run, p)
		if result = event.Result(); err == nil {
			u.Append(workspace.LogFile(run.ProjectID, run.ID), draft)
		}
		return err
	})
	if err != nil {
		return session.SteerResult{}, err
	}
	w.NotifyAppend(workspace.LogFile(run.ProjectID, run.ID))
	return result, nil
}
