package supervisor

import (
	"encoding/json"

	"ac/internal/fault"
	"ac/runs/interaction"
	"ac/runs/session"
)

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
		session.VerbSteer:     taking((*conversation).steer),
		session.VerbAnswer:    taking((*conversation).answer),
		session.VerbPolicy:    taking((*conversation).setPolicy),
		session.VerbInterrupt: taking((*conversation).interrupt),
		session.VerbLive:      taking((*conversation).state),
		session.VerbPrompt:    taking((*conversation).prompt),
		session.VerbMore:      taking((*conversation).more),
		session.VerbCompact:   taking((*conversation).compact),
	}
}

func (c *conversation) state(struct{}) (session.LiveState, error) {
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
