package dialect

// A cache of which agent programs work, so that requests seldom wait for a probe.

import (
	"cmp"
	"context"
	"sync"
	"time"

	"ac/company"
	"ac/company/decisions"
	"ac/runs/provider"
)

// How long a cached result is valid, and how long a request waits for the first one.
const (
	programsHold     = time.Minute
	programsPatience = 2 * time.Second
)

// Programs caches which agent programs work. It probes in the background, and only when asked.
// It is safe for concurrent use.
type Programs struct {
	company *Company
	work    context.Context //nolint:containedctx // of the looks
	looks   sync.WaitGroup

	mu    sync.Mutex
	known []provider.Adapter
	at    time.Time
	look  chan struct{} // closed when the current probe has ended, nil if none runs
}

// NewPrograms returns a Programs whose probes end with the context work.
func NewPrograms(work context.Context, c *Company) *Programs {
	return &Programs{company: c, work: work}
}

// Adapters returns the cached adapters and refreshes stale ones in the background. It waits, for a
// short time, only if nothing is cached yet.
func (h *Programs) Adapters(ctx context.Context) []provider.Adapter {
	h.mu.Lock()
	known := h.known
	if h.look == nil && (known == nil || h.company.Clock.Now().Sub(h.at) > programsHold) {
		h.look = make(chan struct{})
		h.looks.Go(h.refresh)
	}
	look := h.look
	h.mu.Unlock()
	if known != nil {
		return known
	}
	timer := time.NewTimer(programsPatience)
	defer timer.Stop()
	select {
	case <-look:
	case <-timer.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known
}

func (h *Programs) refresh() {
	found, err := h.company.Adapters(h.work)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.known, h.at = found, h.company.Clock.Now()
	}
	close(h.look)
	h.look = nil
}

// Wait waits until no probe is running.
func (h *Programs) Wait() { h.looks.Wait() }

// UnavailableReason returns why an agent cannot work, "" if it can, and the version of its program.
func UnavailableReason(a company.AgentRow, adapters []provider.Adapter) (why, version string) {
	if !decisions.MayDoJobs(a.Role) {
		return "an agent of role " + a.Role + " does no tasks", ""
	}
	driver := provider.DriverOf(a.Provider)
	for _, adapter := range adapters {
		if provider.Driver(adapter.Provider) != driver {
			continue
		}
		if version = cmp.Or(version, adapter.Version); adapter.Available {
			return "", version
		}
		why = cmp.Or(why, adapter.Reason, "its program is not installed")
	}
	return why, version
}
