package live

// The verbs that a conversation offers at its session's socket.

import (
	"encoding/json"

	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/runs/session"
)

// Verb executes one request of a client.
type Verb func(c *Conversation, params []byte) (any, error)

// typedVerb converts a function with typed params into a Verb.
func typedVerb[P, R any](do func(*Conversation, P) (R, error)) Verb {
	return func(c *Conversation, params []byte) (any, error) {
		var p P
		if len(params) > 0 {
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
			}
		}
		return do(c, p)
	}
}

// Verbs returns the verbs of a live session, by name.
func Verbs() map[string]Verb {
	return map[string]Verb{
		session.VerbSteer:     typedVerb((*Conversation).steer),
		session.VerbAnswer:    typedVerb((*Conversation).answer),
		session.VerbPolicy:    typedVerb((*Conversation).setPolicy),
		session.VerbInterrupt: typedVerb((*Conversation).interrupt),
		session.VerbLive:      typedVerb((*Conversation).state),
		session.VerbPrompt:    typedVerb((*Conversation).prompt),
		session.VerbMore:      typedVerb((*Conversation).queueMoreTexts),
		session.VerbCompact:   typedVerb((*Conversation).compact),
	}
}

func (c *Conversation) state(struct{}) (session.LiveState, error) {
	state := session.LiveState{Activity: c.activity(), Turn: c.turns, Policy: c.policy, Open: []interaction.Request{}, Queued: []session.SteerEvent{}}
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
