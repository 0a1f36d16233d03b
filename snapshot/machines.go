package snapshot

// The machines of a hub in figures.

import (
	"context"
	"time"

	"ac/fleet"
	"ac/snapshot/room"
	"ac/workspace"
)

// machinesWithin is how long a hub may take to say how its workers do.
const machinesWithin = 2 * time.Second

// Machines are the workers of the hub and their slots, nil where there is no hub. Of one
// that does not run, or does not answer, only what its files say is known.
func (m *View) Machines() *room.Machines { return MachinesOf(m.w) }

// MachinesOf are the machines of a workspace.
func MachinesOf(w *workspace.Workspace) *room.Machines {
	if !w.Exists(fleet.HubDir) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), machinesWithin)
	defer cancel()
	var status fleet.StatusResult
	if fleet.CallHub(ctx, w, fleet.HubStatus, struct{}{}, &status) == nil {
		online := status.Workers.Active + status.Workers.Draining
		return &room.Machines{
			Workers: online + status.Workers.Offline, Online: online, SlotsTotal: status.Slots.Total, SlotsUsed: status.Slots.Used, Waiting: status.Queue.Waiting,
		}
	}
	found := &room.Machines{}
	workers, _, _ := fleet.ReadWorkers(w.FS) // what cannot be read is the doctor's to say
	for i := range workers {
		if s := workers[i].State; s == fleet.WorkerActive || s == fleet.WorkerDraining {
			found.Workers++
		}
	}
	return found
}
