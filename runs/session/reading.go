package session

// What the agent says of itself in its output: its conversation, why it failed,
// how much it said.

import (
	"context"
	"sync"

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
	// learned is called with a new conversation; it must not block.
	learned func(id string)
}

func (s *supervisor) newReading(ctx context.Context) *reading {
	driver := ""
	if s.order.Turn != nil {
		driver = string(provider.Codex)
	}
	r := &reading{lines: transcript.NewFacts(driver)}
	r.learned = func(id string) { s.learning.Go(func() { s.keepConversation(ctx, id) }) }
	return r
}

func (r *reading) line(stream string, line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.Line(stream, line)
	if id := r.lines.Conversation(); id != r.conversation {
		r.conversation = id
		r.learned(id)
	}
}

// end is what is known once the output is over.
func (r *reading) end() transcript.Facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.End()
	return r.lines.Facts()
}

// keepConversation writes the agent's own id into the run at once, so that the
// conversation can be gone on with whatever becomes of this process. A failure
// costs a continuation its memory, not the session.
func (s *supervisor) keepConversation(ctx context.Context, id string) {
	_ = s.w.Update(ctx, func(u *workspace.Unit) error {
		file := workspace.RunFile(s.order.ProjectID, s.order.RunID)
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil || doc.Terminal(run.Status) || run.ProviderSessionID == id {
			return err
		}
		run.ProviderSessionID = id
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	})
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
	failure := s.facts.Failure
	switch {
	case o.stopped || !s.isAgent():
		return
	case o.status == doc.StatusFailed && failure == nil:
		failure = &transcript.Failure{Kind: transcript.FailedUnknown}
		switch {
		case o.signal != nil:
			failure.Kind = transcript.FailedCrash
		case record.Error != "":
			failure.Kind = transcript.Classify(record.Error)
		}
	case o.status != doc.StatusFailed && (failure == nil || failure.Kind != transcript.FailedRefused):
		return
	}
	if record.Error == "" {
		record.Error = s.secrets.String(failure.Text)
	}
	record.ErrorKind = failure.Kind
	if failure.RetryAfter > 0 {
		record.RetryAfterMS = new(failure.RetryAfter.Milliseconds())
	}
}
