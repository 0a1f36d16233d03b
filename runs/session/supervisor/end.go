package supervisor

// The end of a session: usage, record and closing events, as one unit.

import (
	"context"
	"errors"
	"slices"

	"ac/events"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// endedPayload is the closing payload of a command run.
type endedPayload struct {
	ExitCode       *int    `json:"exit_code"`
	Signal         *string `json:"signal"`
	Stopped        bool    `json:"stopped"`
	BudgetExceeded bool    `json:"budget_exceeded"`
	Error          string  `json:"error,omitempty"`
	ErrorKind      string  `json:"error_kind,omitempty"`
	// Integrity is set if events were removed from the log.
	Integrity *events.Integrity `json:"log_integrity,omitempty"`
}

// end records how the session ended.
func (s *supervisor) end(ctx context.Context, o outcome) error {
	s.closeTools()
	now := s.w.Env.Clock.Now()
	s.mu.Lock()
	s.record.Status, s.record.ExitCode, s.record.Signal = o.status, o.exitCode, o.signal
	s.record.EndedAtMS = new(now.UnixMilli())
	if o.err != nil {
		s.record.Error = s.secrets.String(o.err.Error()) // the error may quote the command line
	}
	s.record.Reason = o.reason
	s.explain(o, &s.record)
	record := s.record
	s.record.Status = doc.StatusRunning // until the unit is committed
	s.mu.Unlock()

	c := session.Closing{Record: &record, Status: o.status, At: now, Conversation: s.facts.Conversation}
	var err error
	if c.Integrity, err = s.integrity(); err != nil {
		return err
	}
	drafts, err := s.accounting(&c)
	if err != nil {
		return err
	}
	ends, err := s.lostEnds(record)
	if err != nil {
		return err
	}
	drafts = append(ends, drafts...)
	if o.unstarted && s.order.Live != nil {
		refused, err := s.refusedTexts(record.Error)
		if err != nil {
			return err
		}
		drafts = append(refused, drafts...)
	}
	payload := endedPayload{ExitCode: o.exitCode, Signal: o.signal, Stopped: o.stopped, Error: record.Error, ErrorKind: record.ErrorKind, Integrity: c.Integrity}
	log := workspace.LogFile(s.order.ProjectID, s.order.RunID)
	if c.CountedLog, err = (session.CountedLog{}).Count(s.w, log); err != nil {
		return err
	}
	decide := s.budgetDecider(&c)
	err = s.w.Update(ctx, func(u *workspace.Unit) error {
		// Concurrently ending runs have settled what they spent once we hold the lock.
		told, exceeded, err := decide()
		if err != nil {
			return err
		}
		payload.BudgetExceeded = exceeded
		last, err := s.draft("run."+c.Status, o.lastPayload(payload))
		if err != nil {
			return err
		}
		c.Events = slices.Concat(drafts, told, []events.Draft{last})
		for i := range c.Events {
			c.Events[i].At = now // one timestamp, so that the log's times never go backwards
		}
		return session.CloseRun(u, c)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.record = record
	s.mu.Unlock()
	return nil
}

// lostEnds returns closing events for what the log of a finished conversation left open. Their
// real ones were lost while the log could not be written. It returns none if no write failed.
func (s *supervisor) lostEnds(record doc.Session) ([]events.Draft, error) {
	if s.talk == nil || !s.recorder.HasFailed() {
		return nil, nil
	}
	open, err := session.ReadOpenEnds(s.w, record)
	if err != nil {
		return nil, err
	}
	return open.Closings(s.w.Events, events.Draft{RunID: record.RunID, SessionRef: record.Ref, Actor: events.ActorSystem})
}

// storeEndFailure stores why the end could not be recorded, if a reader will find a record without
// its end. A removed workspace has no such record. If storing fails, it joins that error to
// cause.
func (s *supervisor) storeEndFailure(cause error) error {
	told, err := session.Read(s.w, s.order.SessionRef)
	if err != nil || s.socket == nil || told.Socket != s.socket.name {
		return cause // nobody would read the reason
	}
	return errors.Join(cause, session.StoreUnrecordedReason(told, s.secrets.String(cause.Error())))
}

// refusedTexts discards the texts that wait for turns of their own, because the session that was
// to send them never began. Otherwise a later session would send them, unasked.
func (s *supervisor) refusedTexts(why string) (drafts []events.Draft, err error) {
	waiting, err := session.WaitingTexts(s.w, s.order.ProjectID, s.order.RunID)
	for _, text := range waiting {
		if text.Mode != session.ModeAfterTurn {
			continue
		}
		d, draftErr := session.RefusedTextEvent(s.w.Events, s.order.RunID, text.ID, errors.New(why))
		drafts, err = append(drafts, d), errors.Join(err, draftErr)
	}
	return drafts, err
}
