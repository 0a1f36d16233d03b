package company

// events.*: subscriptions of this process's client.

import (
	"context"

	"ac/feed"
	"ac/internal/fault"
	"ac/internal/inflight"
)

// SubscribeParams are the params of events.subscribe.
type SubscribeParams struct {
	_ struct{} `is:"needed"`
	MaybeDir
	SubscriptionID string           `json:"subscription_id" is:"optional"`
	ProjectID      string           `json:"project_id" is:"optional"`
	RunID          string           `json:"run_id" is:"optional"`
	EventTypes     []string         `json:"event_types" is:"optional"`
	BackfillLimit  int              `json:"backfill_limit" is:"optional,min=1,cut=5000"`
	SinceSeq       *int64           `json:"since_seq" is:"optional,min=0"`
	Since          map[string]int64 `json:"since" is:"optional,min=0"`
	View           string           `json:"view" is:"default=events,enum=events|transcript"`
}

// viewTranscript selects transcript items instead of events.
const viewTranscript = "transcript"

// OfSubscription returns the subscription that a request names, "" for a new one.
func (p SubscribeParams) OfSubscription() string { return p.SubscriptionID }

// CheckFields checks the cursors against the params that they depend on.
func (p *SubscribeParams) CheckFields() (issues []fault.Issue) {
	refuse := func(field, message string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: message})
	}
	if p.SinceSeq != nil && p.RunID == "" {
		refuse("since_seq", "needs run_id; for many runs use since")
	}
	if (p.SinceSeq != nil || p.Since != nil) && p.WorkspaceDir == "" {
		refuse("workspace_dir", "is needed to resume")
	}
	if p.View == viewTranscript {
		for _, needed := range []NamedText{{Name: "workspace_dir", Value: p.WorkspaceDir}, {Name: "run_id", Value: p.RunID}} {
			if needed.Value == "" {
				refuse(needed.Name, "is needed for a transcript")
			}
		}
		for _, given := range []struct {
			name string
			is   bool
		}{{"backfill_limit", p.BackfillLimit > 0}, {"event_types", p.EventTypes != nil}, {"since", p.Since != nil}} {
			if given.is {
				refuse(given.name, "is not for transcripts")
			}
		}
	}
	return issues
}

// Subscribe creates a subscription. Its cursors are fixed on return. Its notifications follow the
// reply.
func (cs *Host) Subscribe(ctx context.Context, p SubscribeParams) (feed.SubscribeResult, error) {
	if p.View == viewTranscript {
		return cs.subscribeTranscript(ctx, p)
	}
	spec := feed.Spec{
		ID: p.SubscriptionID, Given: p.WorkspaceDir, Project: p.ProjectID, Run: p.RunID, Types: p.EventTypes,
		Backfill: p.BackfillLimit, Since: p.Since,
	}
	if p.SinceSeq != nil {
		spec.Since = map[string]int64{p.RunID: *p.SinceSeq}
	}
	if p.WorkspaceDir != "" {
		w, err := cs.In(p.WorkspaceDir).workspace(ctx)
		if err != nil {
			return feed.SubscribeResult{}, err
		}
		spec.Workspace, spec.Index = w, cs.indexOf(w)
	}
	answer, start, err := cs.hub.Subscribe(spec)
	if err == nil {
		inflight.After(ctx, start)
	}
	return answer, err
}

// subscribeTranscript creates a subscription to the transcript of a run.
func (cs *Host) subscribeTranscript(ctx context.Context, p SubscribeParams) (answer feed.SubscribeResult, err error) {
	c, err := cs.In(p.WorkspaceDir).Enter(ctx)
	if err != nil {
		return answer, err
	}
	spec := feed.TranscriptSpec{ID: p.SubscriptionID, Workspace: c.w, Given: p.WorkspaceDir, Run: p.RunID, Since: p.SinceSeq}
	if spec.Project, err = c.ProjectOf(p.ProjectID, p.RunID); err != nil {
		return answer, err
	}
	answer, start, err := cs.hub.SubscribeTranscript(spec)
	if err == nil {
		inflight.After(ctx, start)
	}
	return answer, err
}

// UnsubscribeParams are the params of events.unsubscribe.
type UnsubscribeParams struct {
	SubscriptionID string `json:"subscription_id"`
}

// OfSubscription returns the subscription that a request names.
func (p UnsubscribeParams) OfSubscription() string { return p.SubscriptionID }

// UnsubscribeResult is the result of events.unsubscribe.
type UnsubscribeResult struct {
	Removed bool `json:"removed"`
}

// Unsubscribe ends a subscription.
func (cs *Host) Unsubscribe(_ context.Context, p UnsubscribeParams) (UnsubscribeResult, error) {
	return UnsubscribeResult{cs.hub.Unsubscribe(p.SubscriptionID)}, nil
}

// AckParams are the params of events.ack.
type AckParams struct {
	SubscriptionID string `json:"subscription_id"`
	LastMonotonic  int64  `json:"last_ack_ts_monotonic_ms" is:"optional,min=0"`
}

// OfSubscription returns the subscription that a request names.
func (p AckParams) OfSubscription() string { return p.SubscriptionID }

// Ack records how far a subscriber has read.
func (cs *Host) Ack(_ context.Context, p AckParams) (OK, error) {
	err := cs.hub.Ack(p.SubscriptionID, p.LastMonotonic)
	return OK{OK: err == nil}, err
}
