package company

// Answers that are given again for a moment, as many ask for them at once.

import (
	"sync"
	"time"
)

// answerLife is how long an answer is given again.
const answerLife = 2 * time.Second

// Recent are the answers of an operation of the last moments, by what was asked. The zero
// value has none. It is safe for concurrent use.
type Recent struct {
	mu    sync.Mutex
	known map[string]timedAnswer
}

type timedAnswer struct {
	at     time.Time
	answer any
}

// Answer is the answer to what was asked, nil if there is none or it is too old.
func (r *Recent) Answer(asked string, now time.Time) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[asked]
	if !ok || now.Sub(known.at) >= answerLife {
		return nil
	}
	return known.answer
}

// Keep remembers an answer; those that are too old go.
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
