package fleet

// The param placement: where a session is to run. Documents may contain it as well.

import (
	"context"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Where a session runs.
const (
	WhereLocal  = doc.WhereLocal
	WhereRemote = doc.WhereRemote
	WhereAny    = doc.WhereAny
)

// DefaultWaitS is how long a launch waits for a worker, in seconds.
const DefaultWaitS = doc.DefaultWaitS

// Placement is the param of methods that start sessions.
type Placement = doc.Placement

// Source is how a worker gets the repository.
type Source = doc.Source

// PlacementOf decides where a launch of an agent runs. It returns the first placement that is
// set, in this order: the caller's, the agent document's, the hub settings'. It does not merge
// them. nil means this machine. For an invalid document the error is fault.InvalidFile.
func PlacementOf(w *workspace.Workspace, agent string, given *Placement) (*Placement, error) {
	if given != nil {
		return given, nil
	}
	if workspace.SafeID(agent) {
		if a, err := w.Agent(agent); err == nil {
			if p, err := a.Placement(); p != nil || err != nil {
				return p, err
			}
		}
	}
	config, err := workspace.Load(w, ConfigCodec, ConfigFile)
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // no hub, or none that says so
	}
	if err != nil || config.Settings == nil {
		return nil, err
	}
	return config.Settings.DefaultPlacement, nil
}

// StarterOf returns the starter for a placement: here for sessions on this machine, otherwise one
// that asks the workspace's hub.
func StarterOf(w *workspace.Workspace, p *Placement, priority string, here Launcher) Launcher {
	if p.Local() {
		return here
	}
	return Starter{Workspace: w, Placement: *p, Priority: priority, LaunchLocal: here.Launch}
}

// Launcher starts sessions on this machine.
type Launcher interface {
	Launch(ctx context.Context, order session.Order) error
}
