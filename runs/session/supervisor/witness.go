package supervisor

// Detection of events removed from the run's log while the session runs.

import (
	"bytes"
	"context"
	"path"

	"ac/events"
	"ac/runs/session"
)

// watch starts a witness on the log: the lines already there, and every line this process
// appends, must stay. If the log cannot be watched, the session is recorded without a witness.
func (s *supervisor) watch(ctx context.Context, log *events.Log, file string) {
	before, err := (session.CountedLog{}).Count(s.w, file)
	if err != nil {
		return
	}
	w := &events.Witness{Tampered: func(i events.Integrity) (events.Draft, error) { return s.draft(events.RunLogTampered, i) }}
	if log.Watch(ctx, w, before.Lines) == nil {
		s.witness = w
	}
}

// integrity returns what the log lost, nil for nothing. It writes the lost lines that the witness
// kept to lost-events.jsonl in the outputs.
func (s *supervisor) integrity() (*events.Integrity, error) {
	if s.witness == nil {
		return nil, nil
	}
	broken, lost := s.witness.Loss()
	if broken == nil || len(lost) == 0 {
		return broken, nil
	}
	return broken, s.w.Replace(path.Join(s.outDir, "lost-events.jsonl"), bytes.Join(lost, nil), 0o644)
}
