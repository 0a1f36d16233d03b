package live

// What others may ask of a conversation by the socket of its session.

import (
	"encoding/json"

	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/runs/session"
)

// Verb is what a live session does for others.
type Verb func(c *Conversation, params []byte) (any, error)

// taking makes a verb of a function that takes params.
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

// Verbs are those that a live session has, by their names.
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
