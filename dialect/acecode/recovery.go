package acecode

// Recovery at the start of a listener: texts that an earlier process acknowledged, but
// whose session never started or never received them.

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"ac/company/orchestration"
	"ac/dialect"
	"ac/events"
	"ac/internal/clock"
	"ac/runs/session"
)

// takeUpWithin is the maximum age of a text that is still delivered automatically.
const takeUpWithin = 10 * time.Minute

// takeUp delivers waiting texts to live sessions, or to new ones, in the background. stop waits
// until it has ended.
func (s *server) takeUp() (stop func()) {
	if s.opts.Dangerous {
		s.state.mode = "full_auto"
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.takeUpAll(s.work); err != nil && s.work.Err() == nil {
			s.Log.Warn("texts that wait cannot be read", "error", err)
		}
	})
	return wg.Wait
}

func (s *server) takeUpAll(ctx context.Context) error {
	rows, err := s.sessions(ctx)
	if err != nil {
		return err
	}
	for i := range rows {
		if s.Clock.Now().Sub(rows[i].Changed) > takeUpWithin {
			continue
		}
		waits, err := s.waits(ctx, rows[i].ID)
		if err != nil && !s.isLeftOut(ctx, rows[i].ID, err) {
			return err
		}
		if !waits || err != nil {
			continue
		}
		p := orchestration.StartWaitingParams{Start: s.start(rows[i])}
		s.act(&p, rows[i].ID)
		if _, err := dialect.Do(ctx, s.Company, orchestration.Operations.StartWaiting, p); err != nil {
			return err
		}
	}
	return nil
}

// waits reports whether a text, not older than takeUpWithin, waits for its own turn.
func (s *server) waits(ctx context.Context, id string) (bool, error) {
	waiting := map[string]bool{}
	err := s.lines(ctx, id, 0, func(_ int64, text []byte) {
		var e struct {
			Type    string `json:"type"`
			At      string `json:"ts_wallclock"`
			Payload struct {
				ID   string   `json:"steer_id"`
				IDs  []string `json:"steer_ids"`
				Mode string   `json:"mode"`
			} `json:"payload"`
		}
		if json.Unmarshal(text, &e) != nil {
			return
		}
		switch e.Type {
		case events.SteerQueued:
			at, ok := clock.Parse(e.At)
			if ok && e.Payload.Mode == session.ModeAfterTurn && s.Clock.Now().Sub(at) < takeUpWithin {
				waiting[e.Payload.ID] = true
			}
		case events.SteerDiscarded, events.SteerApplied:
			delete(waiting, e.Payload.ID)
		case events.TurnStarted:
			for _, id := range e.Payload.IDs {
				delete(waiting, id)
			}
		}
	})
	return len(waiting) > 0, err
}
