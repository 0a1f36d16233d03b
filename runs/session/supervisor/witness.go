package supervisor

// Events that are taken from the log while the run goes on.

import (
	"bytes"
	"context"
	"path"

	"ac/events"
	"ac/runs/session"
)

// watch has the log looked after: what this process appends to it, and what was there
// before, has to stay. A log that cannot be looked at is recorded all the same.
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

// integrity is what was lost of the log, nil for nothing. What is still known of it is
// written to the outputs.
func (s *supervisor) integrity() (*events.Integrity, error) {
	if s.witness == nil {
		return nil, nil
	}
	broken, lost := s.witness.Broken()
	if broken == nil || len(lost) == 0 {
		return broken, nil
	}
	return broken, s.w.Replace(path.Join(s.outDir, "lost-events.jsonl"), bytes.Join(lost, nil), 0o644)
}
