package session

import (
	"encoding/json"

	"ac/internal/fault"
	"ac/runs/interaction"
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
