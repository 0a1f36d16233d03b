package fleet

// Where a session is to run: the param placement, which documents hold, too.

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

// Source is how a worker comes by the repository.
type Source = doc.Source

// PlacementOf is where a launch of an agent runs: where its caller says, else where the
// document of the agent does, else where the settings of the hub do; nil for this machine.
// Each of them counts whole. A document that is invalid is fault.InvalidFile.
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

// StarterOf is what starts the sessions of launches with a placement: here where they run
// on this machine, else the hub of the workspace.
func StarterOf(w *workspace.Workspace, p *Placement, priority string, here Here) Here {
	if p.Local() {
		return here
	}
	return Starter{Workspace: w, Placement: *p, Priority: priority, Here: here.Launch}
}

// Here starts sessions on this machine.
type Here interface {
	Launch(ctx context.Context, order session.Order) error
}
