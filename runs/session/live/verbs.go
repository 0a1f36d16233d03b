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

// taking converts a function with typed params into a Verb.
func taking[P, R any](do func(*Conversation, P) (R, error)) Verb {
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
		session.VerbSteer:     taking((*Conversation).steer),
		session.VerbAnswer:    taking((*Conversation).answer),
		session.VerbPolicy:    taking((*Conversation).setPolicy),
		session.VerbInterrupt: taking((*Conversation).interrupt),
		session.VerbLive:      taking((*Conversation).state),
		session.VerbPrompt:    taking((*Conversation).prompt),
		session.VerbMore:      taking((*Conversation).more),
		session.VerbCompact:   taking((*Conversation).compact),
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
