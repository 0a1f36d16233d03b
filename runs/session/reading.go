package session

// What the agent says of itself in its output: its conversation, why it failed,
// how much it said.

import (
	"context"
	"strings"
	"sync"

	"ac/runs/failure"
	"ac/runs/provider"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

// reading decodes the output of a session as it comes. It is safe for concurrent
// use.
type reading struct {
	mu           sync.Mutex
	lines        *transcript.Session
	conversation string
	errors       string // the end of stderr
	// learned is called with a new conversation; it must not block.
	learned func(id string)
}

func (s *supervisor) newReading(ctx context.Context) *reading {
	driver := ""
	if s.order.Live != nil {
		driver = s.order.Live.Driver
	}
	r := &reading{lines: transcript.NewFacts(driver)}
	r.learned = func(id string) {
		s.note(ctx, func(run *doc.Run) { run.ProviderSessionID = id })
	}
	return r
}

func (r *reading) line(stream string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.Line(stream, line)
	if stream == "stderr" {
		// More than is told: a secret at its beginning may be cut, and is not masked then.
		r.errors = clippedTail(r.errors+string(line)+"\n", 4*maxError)
	}
	if id := r.lines.Conversation(); id != r.conversation {
		r.conversation = id
		r.learned(id)
	}
}

// answer is what the agent said last.
func (r *reading) answer() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Answer
}

// beginTurn and endTurn frame what the agent says in a turn.
func (r *reading) beginTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.BeginTurn()
}

func (r *reading) endTurn(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.EndTurn(broken)
}

// failure is why the agent failed, in its own words; nil where it told nothing.
func (r *reading) failure() *failure.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Facts().Failure
}

// errorTail is the end of what the agent wrote to stderr.
func (r *reading) errorTail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.errors)
}

// clippedTail is the end of a text, from a character on.
func clippedTail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-n:], "")
}

// end is what is known once the output is over.
func (r *reading) end() transcript.Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.End()
	return r.lines.Facts()
}

// notes are changes of the run's record that are still to be written. Each is what
// became known of the session; the record of another program's making stays as it is.
type notes struct {
	mu      sync.Mutex
	pending []func(*doc.Run)
	writing bool
}

// note has something written into the run beside the session, in order, so that it is
// known whatever becomes of this process. A failure costs a report its detail, or a
// continuation its memory, not the session.
func (s *supervisor) note(ctx context.Context, change func(*doc.Run)) {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	s.notes.pending = append(s.notes.pending, change)
	if !s.notes.writing {
		s.notes.writing = true
		s.learning.Go(func() { s.writeNotes(ctx) })
	}
}

func (s *supervisor) writeNotes(ctx context.Context) {
	for {
		s.notes.mu.Lock()
		changes := s.notes.pending
		s.notes.pending = nil
		s.notes.writing = len(changes) > 0
		s.notes.mu.Unlock()
		if len(changes) == 0 {
			return
		}
		_ = s.w.Update(ctx, func(u *workspace.Unit) error {
			file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
			run, err := workspace.LoadIn(u, doc.RunCodec, file)
			if err != nil || doc.Terminal(run.Status) {
				return err
			}
			for _, change := range changes {
				change(&run)
			}
			return workspace.Put(u, doc.RunCodec, file, run, 0o644)
		})
	}
}

// amend changes the record of the session. A hint is not synced; what is no hint is
// durable when amend returns, if it could be written.
func (s *supervisor) amend(durable bool, change func(*doc.Session)) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	change(&s.record)
	record := s.record
	s.mu.Unlock()
	text, err := doc.SessionCodec.Encode(record)
	if err != nil {
		return
	}
	if durable {
		_ = s.w.Replace(workspace.SessionFile(record.Ref), text, 0o600) // the log has it
	} else {
		_ = s.w.Hint(workspace.SessionFile(record.Ref), text, 0o600) // the log has it
	}
}

// isAgent reports whether the session is that of an agent, as opposed to any
// command.
func (s *supervisor) isAgent() bool {
	return s.facts.Known || provider.DriverOf(s.order.Provider) != ""
}

// explain takes the agent's own words for the end of its session: why it failed
// and of which kind that is. They stand in for what we know by ourselves only
// where that is nothing but an exit.
func (s *supervisor) explain(o outcome, record *doc.Session) {
	why := s.facts.Failure
	switch {
	case o.stopped || !s.isAgent():
		return
	case o.status == doc.StatusFailed && why == nil:
		why = &failure.Failure{Kind: failure.Unknown}
		switch {
		case o.signal != nil:
			why.Kind = failure.Crash
		case record.Error != "":
			why.Kind = failure.Classify(record.Error)
		}
	case o.status != doc.StatusFailed && (why == nil || why.Kind != failure.Refused):
		return
	}
	if record.Error == "" {
		record.Error = s.secrets.String(why.Text)
	}
	record.ErrorKind = why.Kind
	if why.RetryAfter > 0 {
		record.RetryAfterMS = new(why.RetryAfter.Milliseconds())
	}
}
