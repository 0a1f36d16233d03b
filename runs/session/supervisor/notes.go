package supervisor

// Record updates while the session runs: the run's record and the session's own.

import (
	"context"
	"sync"

	"ac/runs/failure"
	"ac/runs/provider"
	"ac/runs/session/output"
	"ac/workspace"
	"ac/workspace/doc"
)

// notes are pending changes of the run's record. Each writes something learned about the session.
// A record already terminal stays unchanged.
type notes struct {
	mu      sync.Mutex
	pending []func(*doc.Run)
	writing bool
}

// note queues a change of the run's record. A goroutine writes the changes in order, so that they
// survive a later crash. A failure costs a report its detail, or a continuation its memory, not
// the session.
func (s *supervisor) note(ctx context.Context, change func(*doc.Run)) {
	s.notes.mu.Lock()
	defer s.notes.mu.Unlock()
	s.notes.pending = append(s.notes.pending, change)
	if !s.notes.writing {
		s.notes.writing = true
		s.noteWrites.Go(func() { s.writeNotes(ctx) })
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

// amend changes the session's record. With durable, the change is durable on return if it could
// be written. Without, the record is written as an unsynced hint.
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
		_ = s.w.Replace(workspace.SessionFile(record.Ref), text, 0o600) // best effort: the log has it
	} else {
		_ = s.w.ReplaceUnsynced(workspace.SessionFile(record.Ref), text, 0o600) // best effort: the log has it
	}
}

// isAgent reports whether the provider is an agent rather than a plain command.
func (s *supervisor) isAgent() bool {
	return s.facts.Known || provider.DriverOf(s.order.Provider) != ""
}

// explain adds the agent's own explanation of the session's end: the error text and its kind. The
// text is used only if our own error is empty.
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

func (s *supervisor) newReading(ctx context.Context) *output.Reading {
	driver := ""
	if s.order.Live != nil {
		driver = s.order.Live.Driver
	}
	return output.NewReading(driver, func(id string) {
		s.note(ctx, func(run *doc.Run) { run.ProviderSessionID = id })
	})
}
