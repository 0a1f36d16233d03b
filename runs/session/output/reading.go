package output

// What an agent's output reveals: its conversation id, its failure, and how much it said.

import (
	"strings"
	"sync"

	"ac/internal/clip"
	"ac/runs/failure"
	"ac/runs/transcript"
)

// Reading decodes a session's output as it arrives. It is safe for concurrent use.
type Reading struct {
	mu           sync.Mutex
	lines        *transcript.Session
	conversation string
	errors       string // the end of stderr
	// learned is called with a new conversation id. It must not block.
	learned func(id string)
}

// maxErrors bounds the kept tail of stderr, in bytes.
const maxErrors = 8 << 10

// NewReading returns a Reading for an agent with a driver, "" outside live sessions.
func NewReading(driver string, learned func(id string)) *Reading {
	return &Reading{lines: transcript.NewFacts(driver), learned: learned}
}

// Line decodes a line of a stream.
func (r *Reading) Line(stream string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.Line(stream, line)
	if stream == "stderr" {
		// More than is ever shown: a secret cut at the beginning would not be masked.
		r.errors = clip.Tail(r.errors+string(line)+"\n", maxErrors)
	}
	if id := r.lines.Conversation(); id != r.conversation {
		r.conversation = id
		r.learned(id)
	}
}

// Answer returns the agent's last message.
func (r *Reading) Answer() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Answer
}

// BeginTurn starts a turn.
func (r *Reading) BeginTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.BeginTurn()
}

// EndTurn ends the turn. broken means that it did not complete.
func (r *Reading) EndTurn(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.EndTurn(broken)
}

// Failure returns why the agent failed, in its own words; nil if it gave no reason.
func (r *Reading) Failure() *failure.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Failure
}

// ErrorTail returns the end of what the agent wrote to stderr.
func (r *Reading) ErrorTail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.errors)
}

// End returns the facts once the output is over.
func (r *Reading) End() transcript.Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.End()
	return r.lines.Facts()
}
