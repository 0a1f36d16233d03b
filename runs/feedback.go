package runs

// What somebody thought of a run.

import (
	"context"

	"ac/events"
	"ac/workspace"
)

// feedbackPayload is the payload of events.FeedbackRecorded.
type feedbackPayload struct {
	Signal string  `json:"signal"`
	Reason *string `json:"reason"`
}

// RecordFeedback keeps a signal about a run in its log, with a reason, "" for none, and
// returns the id of the event. It is durable when it returns. An unknown run is
// fault.NotFound, an actor who may not speak to it fault.Denied.
func RecordFeedback(ctx context.Context, w *workspace.Workspace, a Act, signal, reason string) (eventID string, err error) {
	run, err := Load(w, a.ProjectID, a.RunID)
	if err == nil {
		err = mayAct(ctx, w, run, a.Actor)
	}
	if err != nil {
		return "", err
	}
	payload := feedbackPayload{Signal: signal}
	if reason != "" {
		payload.Reason = &reason
	}
	told, err := said(w, run, a, events.FeedbackRecorded, payload)
	if err != nil {
		return "", err
	}
	return told.ID, w.Append(ctx, workspace.LogFile(run.ProjectID, run.ID), told)
}
