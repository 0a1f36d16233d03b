package snapshot

// Counts of a hub's workers and slots.

import (
	"context"
	"time"

	"ac/fleet"
	"ac/snapshot/room"
	"ac/workspace"
)

// machinesWithin is how long a hub may take to answer a status request.
const machinesWithin = 2 * time.Second

// Machines returns the counts of the hub's workers and slots, nil if there is no hub. If the hub
// does not run or does not answer, only the number of workers is known, from the hub's files.
func (m *View) Machines() *room.Machines { return MachinesOf(m.w) }

// MachinesOf returns the machines of a workspace.
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
	workers, _, _ := fleet.ReadWorkers(w.FS) // the doctor reports unreadable files
	for i := range workers {
		if s := workers[i].State; s == fleet.WorkerActive || s == fleet.WorkerDraining {
			found.Workers++
		}
	}
	return found
}
