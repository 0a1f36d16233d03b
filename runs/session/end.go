package session

// The end of a session: usage, record and closing events, as one unit.

import (
	"context"
	"slices"

	"ac/events"
	"ac/workspace"
	"ac/workspace/doc"
)

// endedPayload closes the log of a command run.
type endedPayload struct {
	ExitCode       *int    `json:"exit_code"`
	Signal         *string `json:"signal"`
	Stopped        bool    `json:"stopped"`
	BudgetExceeded bool    `json:"budget_exceeded"`
	Error          string  `json:"error,omitempty"`
	ErrorKind      string  `json:"error_kind,omitempty"`
	// Integrity is there when events were taken from the log.
	Integrity *events.Integrity `json:"log_integrity,omitempty"`
}

// end records the outcome.
func (s *supervisor) end(ctx context.Context, o outcome) error {
	s.closeTools()
	now := s.w.Env.Clock.Now()
	s.mu.Lock()
	s.record.Status, s.record.ExitCode, s.record.Signal = o.status, o.exitCode, o.signal
	s.record.EndedAtMS = new(now.UnixMilli())
	if o.err != nil {
		s.record.Error = s.secrets.String(o.err.Error()) // it may tell the words of the command
	}
	s.record.Reason = o.reason
	s.explain(o, &s.record)
	record := s.record
	s.record.Status = doc.StatusRunning // until the unit is through
	s.mu.Unlock()

	c := closing{record: &record, status: o.status, at: now, conversation: s.facts.Conversation}
	var err error
	if c.integrity, err = s.integrity(); err != nil {
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
	payload := endedPayload{ExitCode: o.exitCode, Signal: o.signal, Stopped: o.stopped, Error: record.Error, ErrorKind: record.ErrorKind, Integrity: c.integrity}
	log := workspace.LogFile(s.order.ProjectID, s.order.RunID)
	if c.counted, err = (counted{}).count(s.w, log); err != nil {
		return err
	}
	decide := s.budgetDecider(&c)
	err = s.w.Update(ctx, func(u *workspace.Unit) error {
		// What runs that end beside this one have spent is known under the lock.
		told, exceeded, err := decide()
		if err != nil {
			return err
		}
		payload.BudgetExceeded = exceeded
		last, err := s.draft("run."+c.status, o.lastPayload(payload))
		if err != nil {
			return err
		}
		c.events = slices.Concat(drafts, told, []events.Draft{last})
		for i := range c.events {
			c.events[i].At = now // one moment, so that no time in the log goes back
		}
		return closeRun(u, c)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.record = record
	s.mu.Unlock()
	return nil
}

// lostEnds are the ends of what the log of a conversation has open though it is over: they
// were told while the log could not be written. There are none where it always could.
func (s *supervisor) lostEnds(record doc.Session) ([]events.Draft, error) {
	if s.talk == nil || !s.recorder.Lost() {
		return nil, nil
	}
	open, err := leftOpen(s.w, record)
	if err != nil {
		return nil, err
	}
	return open.closings(s.w.Events, events.Draft{RunID: record.RunID, SessionRef: record.Ref, Actor: events.ActorSystem})
}
