package heartbeat

// When the next tick is: a function of the config, the state, and what was seen
// before. Requests never move it.

import (
	"time"

	"ac/internal/clock"
)

const (
	// soonest is the least time to a tick that is scheduled.
	soonest = 250 * time.Millisecond
	// catchUpWithin bounds the wait for a tick whose moment has passed.
	catchUpWithin = time.Minute
)

// schedule is the next tick as one process sees it. The zero value has seen
// nothing.
type schedule struct {
	first    time.Time     // of the observations
	moment   string        // next_tick_at as the state had it when due was set
	interval time.Duration // of the config when due was set
	due      time.Time     // zero when nothing is scheduled
}

// look brings the schedule up to date with the files.
func (s *schedule) look(now time.Time, enabled bool, every time.Duration, moment string) {
	if s.first.IsZero() {
		s.first = now
	}
	if !enabled {
		s.due, s.moment = time.Time{}, ""
		return
	}
	if s.due.IsZero() || s.moment != moment {
		s.due = s.from(now, every, moment)
	} else if sooner := now.Add(every); moment == "" && every < s.interval && sooner.Before(s.due) {
		s.due = sooner // a moment in the state is moved there by who changes the config
	}
	s.moment, s.interval = moment, every
}

// from is when a tick is due that was not scheduled yet.
func (s *schedule) from(now time.Time, every time.Duration, moment string) time.Time {
	at, ok := clock.Parse(moment)
	if !ok {
		at = s.first.Add(every)
	}
	if at.After(now) {
		return now.Add(max(at.Sub(now), soonest))
	}
	return now.Add(min(every, catchUpWithin))
}

// fired says that the moment came: unless the files say otherwise, the next try
// is made as for a moment that has passed.
func (s *schedule) fired(now time.Time) {
	if !s.due.IsZero() {
		s.due = now.Add(min(s.interval, catchUpWithin))
	}
}
