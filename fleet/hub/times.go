package hub

// Conversion of workers' times to the hub's clock. A worker's wall clock may be arbitrarily
// wrong. The hub corrects its times by the measured offset, and no decision depends on them.

import (
	"slices"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/clock"
)

// The clock offset is the median of the last offsetsKept measurements. Below offsetFloor, in
// milliseconds, it counts as zero.
const (
	offsetsKept = 9
	offsetFloor = 250
)

// measure adds a measurement of the clock offset, in milliseconds.
func (w *worker) measure(offset int64) {
	w.offsets = append(w.offsets, offset)
	if len(w.offsets) > offsetsKept {
		w.offsets = w.offsets[1:]
	}
	sorted := slices.Sorted(slices.Values(w.offsets))
	w.offset = sorted[len(sorted)/2]
	if -offsetFloor < w.offset && w.offset < offsetFloor {
		w.offset = 0
	}
}

// introduce measures the clock offset from a hello, since drafts may arrive before the first
// beat. It discards the measurements of an earlier process, because the clock may have been set
// since.
func (w *worker) introduce(p fleet.Hello, now int64) {
	if w.boot != p.Boot {
		w.boot, w.offsets = p.Boot, nil
	}
	if len(w.offsets) == 0 && p.NowMS != 0 {
		w.measure(now - p.NowMS)
	}
}

// offsetOf returns the correction for a worker's times, in milliseconds.
func (h *Hub) offsetOf(id string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.workers[id]; w != nil {
		return w.offset
	}
	return 0
}

// timeOf converts a time of the worker's clock to the hub's clock. The result is not before the
// previous draft's and never in the future.
func (l *launch) timeOf(stamp string, offsetMS int64) time.Time {
	now := l.h.w.Env.Clock.Now()
	ms := now.UnixMilli()
	if at, ok := clock.Parse(stamp); ok {
		ms = min(max(at.UnixMilli()+offsetMS, l.last), ms)
	}
	l.last = ms
	return time.UnixMilli(ms).UTC()
}

// timesIn returns the members of a draft's payload that are times.
func timesIn(kind string) []string {
	if kind == events.InteractionRequested {
		return []string{"requested_at", "expires_at"}
	}
	return nil
}
