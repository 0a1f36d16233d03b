package heartbeat

// The time of the next tick: a function of the config, the state and earlier observations.
// Requested ticks do not change it directly.

import (
	"time"

	"ac/internal/clock"
)

const (
	// soonest is the shortest delay of a scheduled tick.
	soonest = 250 * time.Millisecond
	// catchUpWithin bounds the delay of an overdue tick.
	catchUpWithin = time.Minute
)

// schedule is the next tick as this process sees it. The zero value has observed nothing.
type schedule struct {
	first    time.Time     // time of the first observation
	moment   string        // next_tick_at of the state when due was set
	interval time.Duration // of the config when due was set
	due      time.Time     // zero if nothing is scheduled
}

// look updates the schedule from the content of the files.
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
		s.due = sooner // there is no next_tick_at that a change of the config moves
	}
	s.moment, s.interval = moment, every
}

// from returns the due time for a next_tick_at that is not scheduled yet.
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

// fired records that the timer fired. Unless the files change, the next try is due as for an
// overdue tick.
func (s *schedule) fired(now time.Time) {
	if !s.due.IsZero() {
		s.due = now.Add(min(s.interval, catchUpWithin))
	}
}
