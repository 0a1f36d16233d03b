package runs

// Sending a message to a run, whatever its state.

import (
	"context"
	"encoding/json"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Steer sends a message to the agent of a run. The message is durable on return. A message to a
// command waits for the next continuation. With starts, so does a message to a run without a
// session, and the caller must start one.
func Steer(ctx context.Context, w *workspace.Workspace, a Act, p session.SteerRequest, starts bool) (session.SteerResult, error) {
	var none session.SteerResult
	run, record, live, err := LiveSession(ctx, w, a.ProjectID, a.RunID)
	if err != nil {
		return none, err
	}
	if !live || record.Driver == "" {
		if known, ok, err := FindSentMessage(w, run, p.ClientMessageID); ok || err != nil {
			return known, err
		}
	}
	if err := mayAct(ctx, w, run, a.Actor); err != nil {
		return none, err
	}
	p.Actor = a.Actor.ID
	if live && record.Driver != "" && starts {
		// The process that recorded the message may have died before it notified the session.
		// mayAct has settled the journal, so such a message is now in the log.
		if known, ok, err := FindSentMessage(w, run, p.ClientMessageID); ok || err != nil {
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

// isCommand reports whether the run executed a command, which accepts no messages.
func isCommand(run doc.Run) bool {
	return run.Spec != nil && run.Spec.Kind == doc.KindCommand && (run.Live == nil || run.Live.Driver == "" || run.Live.Driver == session.DriverCommand)
}

// FindSentMessage returns the result of a message that its client already sent, by any method.
func FindSentMessage(w *workspace.Workspace, run doc.Run, client string) (session.SteerResult, bool, error) {
	before, ok, err := findSentMessage(w, run, client)
	return before.steer, ok, err
}

// sentMessage is the result of a message that was already sent, in the form of each method that
// sends one.
type sentMessage struct {
	steer     session.SteerResult
	continued ContinueResult
}

// findSentMessage searches the whole log of a run for a client's message id, in steered messages,
// prompts and continuations. Such an id never expires.
func findSentMessage(w *workspace.Workspace, run doc.Run, client string) (before sentMessage, ok bool, err error) {
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
				before.steer = session.SteerResultForPrompt(p.Turn)
			}
		}
	})
	return before, ok, err
}

// queueForLaunch queues a message until the run is continued.
func queueForLaunch(ctx context.Context, w *workspace.Workspace, run doc.Run, p session.SteerRequest) (session.SteerResult, error) {
	var result session.SteerResult
	err := w.Update(ctx, func(u *workspace.Unit) error {
		known, ok, err := FindSentMessage(w, run, p.ClientMessageID) // a concurrent request may have sent it
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
