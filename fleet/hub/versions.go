package hub

// Version negotiation between hubs and workers of different releases.

import (
	"fmt"

	"ac/fleet"
	"ac/fleet/placement"
	"ac/internal/fault"
)

func versions(r [2]int) placement.Versions { return placement.Versions{Min: r[0], Max: r[1]} }

// noOrders is a range of order versions that no hub supports.
var noOrders = placement.Versions{Min: -1, Max: -1}

// orders returns the range of order versions that a worker accepts, zero if it has not said
// hello. The caller must hold the hub's lock.
func (w *worker) orders() placement.Versions {
	switch {
	case w.versionErr != nil:
		return noOrders
	case w.hello == nil:
		return placement.Versions{}
	}
	return versions(w.hello.Orders)
}

// orderVersion returns the version of orders for a worker. If the worker and the hub have no
// version in common, ok is false and version is the hub's newest, which the worker refuses.
// Before its hello, a worker counts with the versions of its record. The caller must hold the
// hub's lock.
func (h *Hub) orderVersion(w *worker) (version int, ok bool) {
	theirs := w.orders()
	if last := w.record.Last; theirs == (placement.Versions{}) && last != nil && len(last.Orders) == 2 {
		theirs = placement.Versions{Min: last.Orders[0], Max: last.Orders[1]}
	}
	if version, ok = theirs.Common(versions(h.o.Speaks.Orders)); !ok {
		version = h.o.Speaks.Orders[1]
	}
	return version, ok
}

// compatible reports whether the hub can send orders to a worker. known is false before its
// hello. The caller must hold the hub's lock.
func (h *Hub) compatible(w *worker) (fits, known bool) {
	_, fits = h.orderVersion(w)
	return fits, w.orders() != (placement.Versions{})
}

// versionsData is the data of a fault incompatible: the offered range and the one supported here.
type versionsData struct {
	Offered [2]int `json:"offered"`
	Known   [2]int `json:"known"`
}

// incompatible records that a worker supports no protocol version of the hub, and returns the
// refusal. The worker gets no orders until its next hello. The caller must hold the hub's lock.
func (h *Hub) incompatible(w *worker, p fleet.Hello) error {
	known, first := h.o.Speaks.Protocol, w.versionErr == nil
	w.versionErr = fault.New(fleet.Incompatible, "%s; install the same release of ac on both machines",
		fmt.Sprintf("the hub (%s) speaks versions %d to %d with workers, worker %s (%s) %d to %d", h.o.Version, known[0], known[1], w.record.Name, p.Version, p.Protocol[0], p.Protocol[1])).
		With(versionsData{p.Protocol, known})
	if first {
		_ = h.amend(w, func(r *fleet.WorkerRecord) { r.Last = lastSeen(p, w.offset, h.w.Env.Clock.Now()) }) // best effort: it says hello again
	}
	return w.versionErr
}
