package session

// Asking the supervisor of a live session.

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

// supervisorWithin is how long a method waits for a supervisor.
const supervisorWithin = 10 * time.Second

// call asks the supervisor of a live session for something.
func call[R any](ctx context.Context, w *workspace.Workspace, record doc.Session, verb string, params any) (result R, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, supervisorWithin, errNoSocket)
	defer cancel()
	text, err := json.Marshal(params)
	if err != nil {
		return result, err
	}
	reply, err := exchange(ctx, record, Request{Version: RequestVersion, Verb: verb, ID: json.RawMessage("1"), Params: text})
	switch {
	case errors.Is(err, errNoSocket):
		gone := !ownerAlive(w, record) && !errors.Is(err, errUnanswered) // one that died over the request may have recorded it
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

// Steer says something to the agent of a live session.
func Steer(ctx context.Context, w *workspace.Workspace, record doc.Session, p SteerRequest) (SteerResult, error) {
	return call[SteerResult](ctx, w, record, VerbSteer, p)
}

// Prompt begins a turn of a live session that is idle.
func Prompt(ctx context.Context, w *workspace.Workspace, record doc.Session, p PromptRequest) (PromptResult, error) {
	return call[PromptResult](ctx, w, record, VerbPrompt, p)
}

// Interrupt stops the turn of a live session.
func Interrupt(ctx context.Context, w *workspace.Workspace, record doc.Session, p InterruptRequest) (InterruptResult, error) {
	return call[InterruptResult](ctx, w, record, VerbInterrupt, p)
}

// Respond answers what the agent of a live session asks. Where the session is over because
// of somebody else's answer, the error is fault.InteractionClosed.
func Respond(ctx context.Context, w *workspace.Workspace, record doc.Session, p AnswerRequest) (AnswerResult, error) {
	result, err := call[AnswerResult](ctx, w, record, VerbAnswer, p)
	if fault.Is(err, fault.RunNotLive) {
		err = cmp.Or(closed(w, record, p.InteractionID), err)
	}
	return result, err
}

// closed is the error about an interaction that an answer has closed, nil for another: the
// end of its session cancels what is open. Without a readable log there is none.
func closed(w *workspace.Workspace, record doc.Session, id string) (err error) {
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

// TakeMore has a live session take the texts that wait in the log of its run.
func TakeMore(ctx context.Context, w *workspace.Workspace, record doc.Session) error {
	_, err := call[struct{}](ctx, w, record, VerbMore, struct{}{})
	return err
}

// Limit says what a session may spend while whoever counts for all runs cannot be reached.
func Limit(ctx context.Context, w *workspace.Workspace, record doc.Session, p LimitsRequest) (LimitsResult, error) {
	return call[LimitsResult](ctx, w, record, VerbLimits, p)
}

// StateOf is a live session as it is now.
func StateOf(ctx context.Context, w *workspace.Workspace, record doc.Session) (LiveState, error) {
	return call[LiveState](ctx, w, record, VerbLive, struct{}{})
}

// Compact has the conversation of a live session compacted, after the turn under way and
// what waits before it.
func Compact(ctx context.Context, w *workspace.Workspace, record doc.Session, p CompactRequest) (CompactResult, error) {
	return call[CompactResult](ctx, w, record, VerbCompact, p)
}
