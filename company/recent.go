package company

// A cache of results for a moment, because many clients ask for the same at once.

import (
	"sync"
	"time"
)

// answerLife is how long an answer is given again.
const answerLife = 2 * time.Second

// Recent caches the results of an operation for a moment, by request. The zero value is
// empty. It is safe for concurrent use.
type Recent struct {
	mu    sync.Mutex
	known map[string]timedAnswer
}

type timedAnswer struct {
	at     time.Time
	answer any
}

// Answer returns the cached result of a request, nil if there is none or it is too old.
func (r *Recent) Answer(asked string, now time.Time) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[asked]
	if !ok || now.Sub(known.at) >= answerLife {
		return nil
	}
	return known.answer
}

// Keep caches a result and drops those that are too old.
func (r *Recent) Keep(asked string, answer any, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[string]timedAnswer{}
	}
	for other, known := range r.known {
		if now.Sub(known.at) >= answerLife {
			delete(r.known, other)
		}
	}
	r.known[asked] = timedAnswer{now, answer}
}

// forget drops all answers, after a change of what they describe.
func (r *Recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}
