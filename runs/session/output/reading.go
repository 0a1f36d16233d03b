package output

// What the agent says of itself in its output: its conversation, why it failed,
// how much it said.

import (
	"strings"
	"sync"

	"ac/internal/clip"
	"ac/runs/failure"
	"ac/runs/transcript"
)

// Reading decodes the output of a session as it comes. It is safe for concurrent
// use.
type Reading struct {
	mu           sync.Mutex
	lines        *transcript.Session
	conversation string
	errors       string // the end of stderr
	// learned is called with a new conversation; it must not block.
	learned func(id string)
}

// maxErrors bounds what is kept of stderr, in bytes.
const maxErrors = 8 << 10

// NewReading reads the output of an agent with a driver, "" for one that is not spoken with.
func NewReading(driver string, learned func(id string)) *Reading {
	return &Reading{lines: transcript.NewFacts(driver), learned: learned}
}

// Line takes a line of a stream.
func (r *Reading) Line(stream string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.Line(stream, line)
	if stream == "stderr" {
		// More than is told: a secret at its beginning may be cut, and is not masked then.
		r.errors = clip.Tail(r.errors+string(line)+"\n", maxErrors)
	}
	if id := r.lines.Conversation(); id != r.conversation {
		r.conversation = id
		r.learned(id)
	}
}

// Answer is what the agent said last.
func (r *Reading) Answer() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Answer
}

// BeginTurn begins what the agent says in a turn.
func (r *Reading) BeginTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.BeginTurn()
}

// EndTurn ends what BeginTurn began; broken says that the turn did not end well.
func (r *Reading) EndTurn(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.EndTurn(broken)
}

// Failure is why the agent failed, in its own words; nil where it told nothing.
func (r *Reading) Failure() *failure.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Failure
}

// ErrorTail is the end of what the agent wrote to stderr.
func (r *Reading) ErrorTail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.errors)
}

// End is what is known once the output is over.
func (r *Reading) End() transcript.Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.End()
	return r.lines.Facts()
}
