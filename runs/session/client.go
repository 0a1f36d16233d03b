package session

// Requests to the supervisor of a live session.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/workspace"
	"ac/workspace/doc"
)

// supervisorTimeout bounds how long a request waits for a supervisor.
const supervisorTimeout = 10 * time.Second

// call sends a request to the supervisor of a live session and decodes its result.
func call[R any](ctx context.Context, w *workspace.Workspace, record doc.Session, verb string, params any) (result R, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, supervisorTimeout, errNoSocket)
	defer cancel()
	text, err := json.Marshal(params)
	if err != nil {
		return result, err
	}
	reply, err := exchange(ctx, record, Request{Version: RequestVersion, Verb: verb, ID: json.RawMessage("1"), Params: text})
	switch {
	case errors.Is(err, errNoSocket):
		gone := !ownerAlive(w, record) && !errors.Is(err, errUnanswered) // a supervisor that died over the request may have recorded it
		now, readErr := Read(w, record.Ref)
		if readErr == nil && gone && now.Remote() && !doc.Terminal(now.Status) {
			return result, HubNotRunning(nil)
		}
		if readErr != nil || doc.Terminal(now.Status) || gone {
			return result, fault.New(fault.RunNotLive, "the session of run %s is over", record.RunID)
		}
		return result, fault.New(fault.SupervisorUnreachable, "the supervisor of run %s cannot be reached; try again", record.RunID)
	case err != nil:
		return result, err
	case reply.Error != "" && reply.Reason == "":
		return result, fault.New(fault.Unsupported, "the supervisor of run %s is of an older ac: %s", record.RunID, reply.Error)
	case reply.Error != "":
		refusal := fault.New(fault.Reason(reply.Reason), "%s", reply.Error)
		if len(reply.Data) > 0 {
			refusal = refusal.With(reply.Data)
		}
		return result, refusal
	}
	return result, json.Unmarshal(reply.Result, &result)
}

// Steer sends a text to the agent of a live session.
func Steer(ctx context.Context, w *workspace.Workspace, record doc.Session, p SteerRequest) (SteerResult, error) {
	return call[SteerResult](ctx, w, record, VerbSteer, p)
}

// Prompt starts a turn in an idle live session.
func Prompt(ctx context.Context, w *workspace.Workspace, record doc.Session, p PromptRequest) (PromptResult, error) {
	return call[PromptResult](ctx, w, record, VerbPrompt, p)
}

// Interrupt stops the current turn of a live session.
func Interrupt(ctx context.Context, w *workspace.Workspace, record doc.Session, p InterruptRequest) (InterruptResult, error) {
	return call[InterruptResult](ctx, w, record, VerbInterrupt, p)
}

// Respond answers a question or permission request of a live session's agent. If the session is
// over and another answer had closed the interaction, the error is fault.InteractionClosed.
func Respond(ctx context.Context, w *workspace.Workspace, record doc.Session, p AnswerRequest) (AnswerResult, error) {
	result, err := call[AnswerResult](ctx, w, record, VerbAnswer, p)
	if fault.Is(err, fault.RunNotLive) {
		err = cmp.Or(interactionClosedError(w, record, p.InteractionID), err)
	}
	return result, err
}

// interactionClosedError returns the error for an interaction that an answer has closed. It returns nil for one
// that is open or was canceled at its session's end, and for an unreadable log.
func interactionClosedError(w *workspace.Workspace, record doc.Session, id string) (err error) {
	fold := interaction.Fold{Project: record.ProjectID, Run: record.RunID}
	_ = EachEvent(w, workspace.LogFile(record.ProjectID, record.RunID), func(kind string, line []byte) {
		if kind != events.InteractionRequested && kind != events.InteractionResolved {
			return
		}
		if r := fold.Apply(line); r != nil && r.InteractionID == id && r.State != interaction.Open && r.State != interaction.Cancelled {
			err = r.Closed()
		}
	})
	return err
}

// SetPolicy changes the policy of a live session.
func SetPolicy(ctx context.Context, w *workspace.Workspace, record doc.Session, p PolicyRequest) (PolicyResult, error) {
	return call[PolicyResult](ctx, w, record, VerbPolicy, p)
}

// LoadMoreTexts has a live session read the texts that wait in its run's log.
func LoadMoreTexts(ctx context.Context, w *workspace.Workspace, record doc.Session) error {
	_, err := call[struct{}](ctx, w, record, VerbMore, struct{}{})
	return err
}

// Limit sets what a session may spend while the hub that counts for all runs is unreachable.
func Limit(ctx context.Context, w *workspace.Workspace, record doc.Session, p LimitsRequest) (LimitsResult, error) {
	return call[LimitsResult](ctx, w, record, VerbLimits, p)
}

// StateOf returns the current state of a live session.
func StateOf(ctx context.Context, w *workspace.Workspace, record doc.Session) (LiveState, error) {
	return call[LiveState](ctx, w, record, VerbLive, struct{}{})
}

// Compact requests that a live session's conversation be compacted, after the current turn and
// the texts queued before it.
func Compact(ctx context.Context, w *workspace.Workspace, record doc.Session, p CompactRequest) (CompactResult, error) {
	return call[CompactResult](ctx, w, record, VerbCompact, p)
}
