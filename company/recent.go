package company

// A short-lived cache of results, because many clients ask for the same result at once.

import (
	"sync"
	"time"
)

// answerLife is how long a cached result is valid.
const answerLife = 2 * time.Second

// Recent caches the results of an operation by request, for answerLife. The zero value is empty.
// It is safe for concurrent use.
type Recent struct {
	mu    sync.Mutex
	known map[string]timedAnswer
}

type timedAnswer struct {
	at     time.Time
	answer any
}

// Answer returns the cached result of a request, nil if there is none or it has expired.
func (r *Recent) Answer(asked string, now time.Time) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[asked]
	if !ok || now.Sub(known.at) >= answerLife {
		return nil
	}
	return known.answer
}

// Keep caches a result and drops expired ones.
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

// forget invalidates all cached results.
func (r *Recent) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}
