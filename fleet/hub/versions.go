package hub

// Versions: what a hub and a worker of different releases both support.

import (
	"fmt"

	"ac/fleet"
	"ac/fleet/placement"
	"ac/internal/fault"
)

func versions(r [2]int) placement.Versions { return placement.Versions{Min: r[0], Max: r[1]} }

// noOrders are versions of orders that no hub knows.
var noOrders = placement.Versions{Min: -1, Max: -1}

// orders are the versions of orders that a worker knows and can be sent, zero of one that was
// not heard of. It runs with the hub locked.
func (w *worker) orders() placement.Versions {
	switch {
	case w.misfit != nil:
		return noOrders
	case w.hello == nil:
		return placement.Versions{}
	}
	return versions(w.hello.Orders)
}

// orderVersion is the version of the orders that a worker is sent; ok is false where it and
// the hub have none in common: it is the newest then, which the worker refuses. One that was
// not heard of counts as what it was before. It runs with the hub locked.
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

// compatible reports whether a worker can be sent orders; known is false of one that was not
// heard of. It runs with the hub locked.
func (h *Hub) compatible(w *worker) (fits, known bool) {
	_, fits = h.orderVersion(w)
	return fits, w.orders() != (placement.Versions{})
}

// versionsData is the data of incompatible: the range that was offered, and the one that is
// known here.
type versionsData struct {
	Offered [2]int `json:"offered"`
	Known   [2]int `json:"known"`
}

// incompatible takes a worker that speaks no version of the hub's. It gets nothing until it
// says another hello. It runs with the hub locked.
func (h *Hub) incompatible(w *worker, p fleet.Hello) error {
	known, first := h.o.Speaks.Protocol, w.misfit == nil
	w.misfit = fault.New(fleet.Incompatible, "%s; install the same release of ac on both machines",
		fmt.Sprintf("the hub (%s) speaks versions %d to %d with workers, worker %s (%s) %d to %d", h.o.Version, known[0], known[1], w.record.Name, p.Version, p.Protocol[0], p.Protocol[1])).
		With(versionsData{p.Protocol, known})
	if first {
		_ = h.amend(w, func(r *fleet.WorkerRecord) { r.Last = lastSeen(p, w.offset, h.w.Env.Clock.Now()) }) // it says it again
	}
	return w.misfit
}
