package doctor

// The hub, through which other machines execute sessions. Without its folder there is nothing
// to check.

import (
	"context"
	"errors"
	"path"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace"
)

// machines checks the hub's files, the sessions that it follows, and its message carrier.
func (p Target) machines(ctx context.Context) []Check {
	if !p.Workspace.Exists(fleet.HubDir) {
		return nil
	}
	return []Check{p.hubFiles(), p.hubAttempts(), p.hubDurability(ctx)}
}

// hubFiles checks that the hub's files are private and readable.
func (p Target) hubFiles() Check {
	const id = "hub.files"
	w := p.Workspace
	wide, broken := wideHubFiles(w), []string{}
	if _, err := workspace.Load(w, fleet.ConfigCodec, fleet.ConfigFile); err != nil && !fault.Is(err, fault.NotFound) {
		broken = append(broken, fleet.ConfigFile)
	}
	_, workers, err := fleet.ReadWorkers(w.FS)
	if err != nil {
		return unknown(id, err)
	}
	for _, name := range workers {
		broken = append(broken, path.Join(fleet.WorkersDir, name))
	}
	_, attempts, err := fleet.ReadAttempts(w.FS)
	if err != nil {
		return unknown(id, err)
	}
	for _, name := range attempts {
		broken = append(broken, path.Join(fleet.AttemptsDir, name))
	}
	switch {
	case len(wide) > 0:
		return Check{ID: id, Status: Warn, Message: plural(len(wide), "file") + " of the hub can be read by other users", Details: shortened(wide),
			Hint: "Take their rights away: chmod -R go-rwx " + path.Join(p.RequestedDir, fleet.HubDir)}
	case len(broken) > 0:
		return Check{ID: id, Status: Warn, Message: plural(len(broken), "file") + " of the hub cannot be read", Details: shortened(broken),
			Hint: "Restore them from a backup while the hub is down. A worker without a record is not known any more: invite it again."}
	}
	return pass(id, "the hub's files are private and readable")
}

// wideHubFiles returns the hub's files and folders that other users can access.
func wideHubFiles(w *workspace.Workspace) (wide []string) {
	if !proc.HasModes {
		return nil
	}
	names := []string{fleet.HubDir, fleet.ConfigFile, fleet.KeyFile, fleet.OwnerFile, fleet.CertKeyFile, fleet.WorkersDir, fleet.AttemptsDir, fleet.CarrierDir}
	for dir, ext := range map[string]string{fleet.WorkersDir: ".yaml", fleet.AttemptsDir: ".json"} {
		found, err := workspace.Files(w.FS, dir, ext)
		if err != nil {
			continue // hubFiles reports the read error
		}
		for _, name := range found {
			names = append(names, path.Join(dir, name))
		}
	}
	for _, name := range names {
		if st, err := w.FS.Lstat(name); err == nil && st.Mode().Perm()&0o077 != 0 {
			wide = append(wide, name)
		}
	}
	return wide
}

// hubAttempts checks that a hub follows the sessions on other machines.
func (p Target) hubAttempts() Check {
	const id = "hub.attempts"
	attempts, _, err := fleet.ReadAttempts(p.Workspace.FS)
	if err != nil {
		return unknown(id, err)
	}
	var live []string
	for i := range attempts {
		if a := &attempts[i]; a.State != fleet.AttemptDone && a.State != fleet.AttemptFenced {
			live = append(live, a.SessionRef)
		}
	}
	if len(live) == 0 || fleet.HubAlive(p.Workspace) {
		return pass(id, "%s on other machines, and a hub for them", plural(len(live), "session"))
	}
	return Check{ID: id, Status: Warn, Message: plural(len(live), "session") + " on other machines without a hub", Details: shortened(live),
		Hint: "Start it: ac hub:start " + p.RequestedDir + ". To give one up: ac session:abandon " + p.RequestedDir + " REF --reason TEXT"}
}

// hubWithin bounds the wait for the hub's status.
const hubWithin = 2 * time.Second

// hubDurability checks the message carrier of a running hub, and reports how many events are
// not in the logs yet.
func (p Target) hubDurability(ctx context.Context) Check {
	const id = "hub.durability"
	ctx, cancel := context.WithTimeout(ctx, hubWithin)
	defer cancel()
	var status fleet.StatusResult
	err := fleet.CallHub(ctx, p.Workspace, fleet.HubStatus, struct{}{}, &status)
	switch {
	case fault.Is(err, fault.HubNotRunning):
		return pass(id, session.HubNotRunningNote)
	case errors.Is(err, context.DeadlineExceeded):
		return Check{ID: id, Status: Warn, Message: "the hub does not answer",
			Hint: "Restart it; sessions keep running: ac hub:stop " + p.RequestedDir + ", then ac hub:start " + p.RequestedDir}
	case err != nil:
		return unknown(id, err)
	case status.Error != "":
		return Check{ID: id, Status: Warn, Message: "the hub cannot record events of workers: " + status.Error,
			Hint: "The workers keep these events and send them again. Fix the cause named in the message."}
	case status.Connected != nil && !*status.Connected:
		return Check{ID: id, Status: Warn, Message: "the hub is not connected to its message carrier",
			Hint: "Workers keep their events until the hub is connected again. Check the NATS servers in " + path.Join(p.RequestedDir, fleet.ConfigFile)}
	case status.Durability == "weak":
		return Check{ID: id, Status: Warn, Message: "the message carrier stores each message on one server only",
			Hint: "Lost messages are sent again, but sessions wait while that server is down. Use three replicas, and sync_interval: always on every server."}
	}
	return pass(id, "%d events wait to be written to the logs", status.Lag.Drafts)
}
