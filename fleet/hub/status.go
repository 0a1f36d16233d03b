package hub

// The status of the hub and of its workers.

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/workspace/doc"
)

// status returns the result of hub.status.
func (h *Hub) status(ctx context.Context) fleet.StatusResult {
	connected := h.carrier.Connected()
	s := fleet.StatusResult{
		Running: true, HubID: h.config.HubID, PID: h.owner.PID, Version: h.owner.Version, Carrier: h.config.Carrier, Listen: h.owner.Listen,
		Connected: &connected, Durability: h.durability(), StartedAt: h.owner.StartedAt, Refused: h.refused.Load(),
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if counts, err := h.carrier.Counts(ctx); err == nil {
		s.Streams = counts
	}
	for _, l := range h.all() {
		l.mu.Lock()
		s.Attempts.Live++
		drafts, oldest := l.lag.Now(h.o.Elapsed(), l.sealing.sealed)
		s.Lag.Drafts, s.Lag.OldestMS = s.Lag.Drafts+drafts, max(s.Lag.OldestMS, oldest.Milliseconds())
		if l.reach == doc.ReachUnreachable {
			s.Attempts.Unreachable++
		}
		if l.record.State == fleet.AttemptPlaced {
			s.Queue.Placing++
		}
		l.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Queue.Waiting, s.Broken = len(h.waiting), h.broken
	if h.fault != nil {
		s.Error = h.fault.Error()
	}
	for _, w := range h.workers {
		h.count(w, &s)
	}
	return s
}

// durability describes how durable the carrier is: "ok" for the embedded server, "weak" if only
// one server stores the messages, "" if unknown.
func (h *Hub) durability() string {
	switch {
	case h.config.Carrier == fleet.CarrierEmbedded:
		return "ok"
	case h.config.NATS.Replicas < 2:
		return "weak"
	}
	return ""
}

// count adds a worker to the status. The caller must hold the hub's lock.
func (h *Hub) count(w *worker, s *fleet.StatusResult) {
	if w.record.State == fleet.WorkerRevoked || w.record.State == fleet.WorkerInvited {
		return
	}
	online := h.online(w)
	if w.record.State == fleet.WorkerDraining {
		s.Workers.Draining++
	} else {
		s.Workers.Active++
	}
	if !online {
		s.Workers.Offline++
	}
	if fits, known := h.compatible(w); known && !fits {
		s.Workers.Incompatible++
	}
	if online {
		s.Slots.Total += w.record.Slots
		s.Slots.Used += len(w.launches)
	}
}

// rows lists the workers by name.
func (h *Hub) rows() fleet.WorkersResult {
	lags := map[*launch]lagRow{}
	for _, l := range h.all() {
		l.mu.Lock()
		drafts, _ := l.lag.Now(h.o.Elapsed(), l.sealing.sealed)
		lags[l] = lagRow{Reach: l.reach, Drafts: drafts, Spooled: l.spooled}
		l.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	result := fleet.WorkersResult{Workers: []fleet.WorkerRow{}}
	for _, w := range h.workers {
		row := h.row(w)
		var spooled int64
		for l := range w.launches {
			lag, ok := lags[l]
			if !ok {
				continue
			}
			spooled += lag.Spooled
			row.Attempts = append(row.Attempts, fleet.AttemptRow{
				RunID: l.order.RunID, ProjectID: l.order.ProjectID, SessionRef: l.order.SessionRef, Epoch: l.at.epoch, Reach: lag.Reach, Lag: lag.Drafts,
			})
		}
		if row.Online {
			row.SpooledBytes = &spooled
		}
		slices.SortFunc(row.Attempts, func(a, b fleet.AttemptRow) int { return strings.Compare(a.SessionRef, b.SessionRef) })
		result.Workers = append(result.Workers, row)
	}
	slices.SortFunc(result.Workers, func(a, b fleet.WorkerRow) int {
		return strings.Compare(a.Name+"\x00"+a.WorkerID, b.Name+"\x00"+b.WorkerID)
	})
	return result
}

// row returns the list row of a worker, without its attempts. The caller must hold the hub's
// lock.
func (h *Hub) row(w *worker) fleet.WorkerRow {
	r := w.record
	row := fleet.WorkerRow{
		WorkerID: r.ID, Name: r.Name, Role: r.Role, State: r.State, Online: h.online(w), Labels: r.Labels, Slots: r.Slots, Used: len(w.launches),
		Providers: []string{}, Attempts: []fleet.AttemptRow{},
	}
	if row.Labels == nil {
		row.Labels = []string{}
	}
	row.FreeSlots = max(0, row.Slots-row.Used)
	if last := r.Last; last != nil {
		row.LastSeenAt, row.Version, row.OS, row.Arch = last.SeenAt, last.Version, last.OS, last.Arch
		if last.Providers != nil {
			row.Providers = last.Providers
		}
	}
	if w.seen >= 0 {
		row.LastSeenAt = clock.Stamp(h.w.Env.Clock.Now().Add(w.seen - h.o.Elapsed()))
	}
	if fits, known := h.compatible(w); known {
		row.Compatible = &fits
	}
	if row.Online && w.beat.Seq > 0 {
		row.DiskFree, row.Load1, row.ClockOffsetMS = &w.beat.DiskFree, &w.beat.Load1, &w.offset
		rtt := math.Round(w.rtt*100) / 100
		row.RTTMS = &rtt
	}
	return row
}

// lagRow is how far the log of a session lags behind its worker.
type lagRow struct {
	Reach   string
	Drafts  int64
	Spooled int64
}
