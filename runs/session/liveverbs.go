package session

// The verbs of a supervisor: what others may ask of a session by its socket.

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

// verbLimits is of the second version, and of every session.
const verbLimits = "limits"

// Verbs of the second version, of live sessions alone.
const (
	verbSteer     = "steer"
	verbInterrupt = "interrupt"
	verbAnswer    = "answer"
	verbPolicy    = "policy"
	verbLive      = "live"
	verbPrompt    = "prompt"
	verbMore      = "more"
	verbCompact   = "compact"
)

// serve carries a request out.
func (s *supervisor) serve(request socketRequest) socketReply {
	reply := socketReply{Version: max(request.Version, 1), ID: request.ID}
	switch request.Verb {
	case "\x00":
		reply.Error = "request not understood"
	case verbWait:
		<-s.ended
	case verbStop:
		s.requestStop(true)
	case verbState:
	default:
		verb, known := verbs()[request.Verb]
		switch {
		case request.Version < 2 || !known && request.Verb != verbLimits:
			reply.Error, reply.Reason = "unknown verb "+request.Verb, string(fault.Unsupported)
		case !known:
			reply.with(s.limit(request.Params))
		default:
			reply.with(s.speak(func(c *conversation) (any, error) { return verb(c, request.Params) }))
		}
	}
	return reply
}

// limit takes what the session may still spend.
func (s *supervisor) limit(params []byte) (any, error) {
	var p LimitsRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	return s.may.set(p)
}

// with puts what became of a request into its reply.
func (r *socketReply) with(result any, err error) {
	if err == nil {
		r.Result = result
		return
	}
	r.Error, r.Reason = err.Error(), string(fault.ReasonOf(err))
	if e, ok := errors.AsType[*fault.Error](err); ok {
		r.Data = e.Data
	}
}

// verb is what a live session does for others.
type verb func(c *conversation, params []byte) (any, error)

// taking makes a verb of a function that takes params.
func taking[P, R any](do func(*conversation, P) (R, error)) verb {
	return func(c *conversation, params []byte) (any, error) {
		var p P
		if len(params) > 0 {
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
			}
		}
		return do(c, p)
	}
}

func verbs() map[string]verb {
	return map[string]verb{
		verbSteer:     taking((*conversation).steer),
		verbAnswer:    taking((*conversation).answer),
		verbPolicy:    taking((*conversation).setPolicy),
		verbInterrupt: taking((*conversation).interrupt),
		verbLive:      taking((*conversation).state),
		verbPrompt:    taking((*conversation).prompt),
		verbMore:      taking((*conversation).more),
		verbCompact:   taking((*conversation).compact),
	}
}

// speak has a verb carried out by the conversation, and returns when it was.
func (s *supervisor) speak(do func(*conversation) (any, error)) (result any, err error) {
	select {
	case <-s.spoken:
	case <-s.ended:
	}
	if s.order.Live == nil {
		return nil, fault.New(fault.RunNotSteerable, "run %s is a command: nothing can be said to it", s.order.RunID)
	}
	gone := fault.New(fault.RunNotLive, "the session of run %s is over", s.order.RunID)
	if s.talk == nil {
		return nil, gone
	}
	err = fault.New(fault.Internal, "the request met an internal fault")
	if !s.talk.await(func() { result, err = do(s.talk) }) {
		return nil, gone
	}
	return result, err
}

// InterruptRequest asks for the end of a turn; 0 for whichever is under way.
type InterruptRequest struct {
	Actor        string `json:"actor_id"`
	ExpectedTurn int    `json:"expected_turn,omitempty"`
}

// InterruptResult is the turn whose end was asked for.
type InterruptResult struct {
	Interrupted bool `json:"interrupted"`
	Turn        int  `json:"turn"`
}

// LiveState is a live session as it is now.
type LiveState struct {
	Activity string                `json:"activity"`
	Turn     int                   `json:"turn"`
	Policy   doc.RunPolicy         `json:"policy"`
	Open     []interaction.Request `json:"open"`
	Queued   []SteerEvent          `json:"queued"`
}

func (c *conversation) state(struct{}) (LiveState, error) {
	state := LiveState{Activity: c.activity(), Turn: c.turns, Policy: c.policy, Open: []interaction.Request{}, Queued: []SteerEvent{}}
	for _, i := range c.open {
		state.Open = append(state.Open, i.Request)
	}
	for _, s := range c.waiting {
		if s.compacts == "" {
			state.Queued = append(state.Queued, s.SteerEvent)
		}
	}
	return state, nil
}

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
	reply, err := exchange(ctx, record, socketRequest{Version: socketVersion, Verb: verb, ID: json.RawMessage("1"), Params: text})
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
	return call[SteerResult](ctx, w, record, verbSteer, p)
}

// Prompt begins a turn of a live session that is idle.
func Prompt(ctx context.Context, w *workspace.Workspace, record doc.Session, p PromptRequest) (PromptResult, error) {
	return call[PromptResult](ctx, w, record, verbPrompt, p)
}

// Interrupt stops the turn of a live session.
func Interrupt(ctx context.Context, w *workspace.Workspace, record doc.Session, p InterruptRequest) (InterruptResult, error) {
	return call[InterruptResult](ctx, w, record, verbInterrupt, p)
}

// Respond answers what the agent of a live session asks. Where the session is over because
// of somebody else's answer, the error is fault.InteractionClosed.
func Respond(ctx context.Context, w *workspace.Workspace, record doc.Session, p AnswerRequest) (AnswerResult, error) {
	result, err := call[AnswerResult](ctx, w, record, verbAnswer, p)
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
	return call[PolicyResult](ctx, w, record, verbPolicy, p)
}

// TakeMore has a live session take the texts that wait in the log of its run.
func TakeMore(ctx context.Context, w *workspace.Workspace, record doc.Session) error {
	_, err := call[struct{}](ctx, w, record, verbMore, struct{}{})
	return err
}

// Limit says what a session may spend while whoever counts for all runs cannot be reached.
func Limit(ctx context.Context, w *workspace.Workspace, record doc.Session, p LimitsRequest) (LimitsResult, error) {
	return call[LimitsResult](ctx, w, record, verbLimits, p)
}

// StateOf is a live session as it is now.
func StateOf(ctx context.Context, w *workspace.Workspace, record doc.Session) (LiveState, error) {
	return call[LiveState](ctx, w, record, verbLive, struct{}{})
}
