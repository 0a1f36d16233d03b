package fleet

// The settings of a hub, and their limits.

import (
	"time"

	"ac/internal/fault"
)

// Settings are the settings of a hub and its workers. Zero members have their defaults.
type Settings struct {
	_                  struct{}   `is:"strict"`
	BeatMS             int64      `json:"beat_ms,omitempty" is:"optional,min=100,max=60000"`
	UnreachableAfterMS int64      `json:"unreachable_after_ms,omitempty" is:"optional,min=300"`
	LeaseS             int64      `json:"lease_s,omitempty" is:"optional,min=1,max=604800"`
	OnCutOff           string     `json:"on_cut_off,omitempty" is:"optional,enum=continue|stop"`
	LeaseMarginMS      int64      `json:"lease_margin_ms,omitempty" is:"optional,min=1000"`
	ClaimWithinMS      int64      `json:"claim_within_ms,omitempty" is:"optional,min=100"`
	StartWithinMS      int64      `json:"start_within_ms,omitempty" is:"optional,min=100"`
	ResultsWaitS       int64      `json:"results_wait_s,omitempty" is:"optional,min=1"`
	ResultsMaxBytes    int64      `json:"results_max_bytes,omitempty" is:"optional,min=1"`
	MinFreeBytes       int64      `json:"min_free_bytes,omitempty" is:"optional,min=1"`
	KeepS              int64      `json:"keep_s,omitempty" is:"optional,min=1"`
	Slots              int        `json:"slots,omitempty" is:"optional,min=1,max=1000"`
	DefaultPlacement   *Placement `json:"default_placement,omitempty" is:"optional"`
}

// Defaults returns the settings of a hub without configuration. Slots and DefaultPlacement have
// no default.
func Defaults() Settings {
	return Settings{
		BeatMS: 5_000, UnreachableAfterMS: 20_000, LeaseS: 3_600, OnCutOff: CutOffStop, LeaseMarginMS: 30_000,
		ClaimWithinMS: 15_000, StartWithinMS: 660_000, ResultsWaitS: 600, ResultsMaxBytes: 2 << 30,
		MinFreeBytes: 1 << 30, KeepS: 86_400,
	}
}

// Over returns s overridden by the members that are set in with.
func (s Settings) Over(with Settings) Settings {
	set(&s.BeatMS, with.BeatMS)
	set(&s.UnreachableAfterMS, with.UnreachableAfterMS)
	set(&s.LeaseS, with.LeaseS)
	set(&s.OnCutOff, with.OnCutOff)
	set(&s.LeaseMarginMS, with.LeaseMarginMS)
	set(&s.ClaimWithinMS, with.ClaimWithinMS)
	set(&s.StartWithinMS, with.StartWithinMS)
	set(&s.ResultsWaitS, with.ResultsWaitS)
	set(&s.ResultsMaxBytes, with.ResultsMaxBytes)
	set(&s.MinFreeBytes, with.MinFreeBytes)
	set(&s.KeepS, with.KeepS)
	set(&s.Slots, with.Slots)
	if with.DefaultPlacement != nil {
		s.DefaultPlacement = with.DefaultPlacement
	}
	return s
}

func set[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}

// Check refuses contradictory settings. Call it with the defaults filled in.
func (s Settings) Check() error {
	if s.UnreachableAfterMS < 3*s.BeatMS {
		return fault.InvalidField("unreachable_after_ms", "must be at least three beats (%d)", 3*s.BeatMS)
	}
	if s.LeaseMarginMS < stopLadder.Milliseconds() && s.OnCutOff == CutOffStop {
		return fault.InvalidField("lease_margin_ms", "must be at least %d, which stopping a session takes", stopLadder.Milliseconds())
	}
	return nil
}

// stopLadder is the maximum duration of a stop: SIGTERM, SIGKILL, the sweep.
const stopLadder = 5 * time.Second

// Beat returns the interval between two beats.
func (s Settings) Beat() time.Duration { return time.Duration(s.BeatMS) * time.Millisecond }

// Wait returns the time until the next beat. told is what the hub asked for, 0 for nothing. The
// result stays between 1/4 and 5/4 of the interval, whatever the hub asked for.
func (s Settings) Wait(told time.Duration) time.Duration {
	if told == 0 {
		return s.Beat()
	}
	return min(max(told, s.Beat()/4), s.Beat()+s.Beat()/4)
}

// UnreachableAfter returns how long a worker may be silent before it counts as unreachable.
func (s Settings) UnreachableAfter() time.Duration {
	return time.Duration(s.UnreachableAfterMS) * time.Millisecond
}

// ClaimWithin returns how long an order waits for its claim.
func (s Settings) ClaimWithin() time.Duration {
	return time.Duration(s.ClaimWithinMS) * time.Millisecond
}

// StartWithin returns how long a claimed attempt may take to start its provider.
func (s Settings) StartWithin() time.Duration {
	return time.Duration(s.StartWithinMS) * time.Millisecond
}

// FenceAfter returns when the hub considers a lease of leaseS seconds expired, counted from the
// last beat. The worker's own lease expires earlier, by the margin.
func (s Settings) FenceAfter(leaseS int64) time.Duration {
	lease := time.Duration(leaseS) * time.Second
	return lease + max(time.Duration(s.LeaseMarginMS)*time.Millisecond, lease/100)
}
