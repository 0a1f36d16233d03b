package runs

// Feedback on a run.

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

// RecordFeedback records a signal about a run in its log, with an optional reason, and returns
// the id of the event. It is durable on return. The error is fault.NotFound for an unknown run,
// fault.Denied for an actor who may not act on it.
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
	told, err := actEvent(w, run, a, events.FeedbackRecorded, payload)
	if err != nil {
		return "", err
	}
	return told.ID, w.Append(ctx, workspace.LogFile(run.ProjectID, run.ID), told)
}
