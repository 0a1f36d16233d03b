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
	mu      sync.Mutex
	known   map[string]timedAnswer
	forgets int // how often everything was invalidated
}

type timedAnswer struct {
	at     time.Time
	answer any
}

// Answer returns the cached result of a request, nil if there is none or it has expired. Then the
// caller computes the result and passes it to keep, which caches it and drops expired ones. keep
// is a no-op if the cache was invalidated since Answer: the result may be from before the change.
func (r *Recent) Answer(asked string, now time.Time) (answer any, keep func(answer any, now time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	forgets := r.forgets
	keep = func(answer any, now time.Time) { r.keep(asked, answer, now, forgets) }
	known, ok := r.known[asked]
	if !ok || now.Sub(known.at) >= answerLife {
		return nil, keep
	}
	return known.answer, keep
}

func (r *Recent) keep(asked string, answer any, now time.Time, forgets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forgets != forgets {
		return
	}
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
	r.forgets++
}
