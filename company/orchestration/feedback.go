package orchestration

// feedback.submit: a person's feedback on a run.

import (
	"context"

	"ac/runs"
)

// FeedbackParams are the params of feedback.submit.
type FeedbackParams struct {
	actParams
	Signal string `json:"signal" is:"enum=accept|reject"`
	Reason string `json:"reason,omitempty" is:"optional,empty"`
}

// FeedbackResult is the result of feedback.submit.
type FeedbackResult struct {
	EventID string `json:"event_id"`
}

// SubmitFeedback records feedback in the log of a run. Only the newest feedback of each actor
// counts.
func (c Operations) SubmitFeedback(ctx context.Context, p FeedbackParams) (FeedbackResult, error) {
	reason := []rune(p.Reason)
	id, err := runs.RecordFeedback(ctx, c.Workspace(), p.act(), p.Signal, string(reason[:min(len(reason), maxReason)]))
	return FeedbackResult{id}, err
}

// maxReason bounds a reason, in characters.
const maxReason = 2000
