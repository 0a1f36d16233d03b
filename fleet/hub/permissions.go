package hub

// The permissions of a worker, for the operators of the user's own NATS servers.

import (
	"slices"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/fault"
	"ac/workspace"
)

// Permissions are the NATS users of a worker: the invitation's until it joins, then its own. A
// worker that was revoked or whose invitation expired has none.
type Permissions struct {
	HubID    string          `json:"hub_id"`
	WorkerID string          `json:"worker_id"`
	Name     string          `json:"name"`
	State    string          `json:"state"`
	Users    []carrier.Grant `json:"users"`
}

// PermissionsOf reads the permissions of a worker from the files of its hub, which need not run.
// name is the worker's id or name.
func PermissionsOf(w *workspace.Workspace, name string) (p Permissions, err error) {
	config, err := workspace.Load(w, fleet.ConfigCodec, fleet.ConfigFile)
	if fault.Is(err, fault.NotFound) {
		return p, fault.New(fault.NotFound, "the workspace has no hub yet; start one with ac hub:start, and invite a worker")
	}
	if err != nil {
		return p, err
	}
	list, _, err := fleet.ReadWorkers(w.FS)
	if err != nil {
		return p, err
	}
	at := slices.IndexFunc(list, func(r fleet.WorkerRecord) bool {
		return r.ID == name || r.Name == name && r.State != fleet.WorkerRevoked
	})
	if at < 0 {
		return p, fault.New(fleet.UnknownWorker, "there is no worker %s; ac worker:list has them", name)
	}
	p = Permissions{config.HubID, list[at].ID, list[at].Name, list[at].State, []carrier.Grant{}}
	for _, u := range usersOf(list[at], w.Env.Clock.Now()) {
		p.Users = append(p.Users, carrier.GrantOf(config.HubID, u))
	}
	return p, nil
}
