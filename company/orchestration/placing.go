package orchestration

// Where launches run: on this machine, or through the hub on another one.

import (
	"ac/fleet"
	"ac/runs"
)

// starterFor decides where an agent's session runs, and returns the starter for that place.
func (c Operations) starterFor(spec *runs.LaunchSpec, agent string) (_ runs.Starter, err error) {
	if spec.Placement, err = fleet.PlacementOf(c.Workspace(), agent, spec.Placement); err != nil {
		return nil, err
	}
	return fleet.StarterOf(c.Workspace(), spec.Placement, spec.Priority, c.Host().Launcher()), nil
}

// starterForRun is placed for a session of an existing run. By default, the session runs where the
// run's earlier sessions ran. The launch itself rejects an unreadable run.
func (c Operations) starterForRun(spec *runs.LaunchSpec) (runs.Starter, error) {
	run, err := runs.Load(c.Workspace(), spec.ProjectID, spec.RunID)
	if err == nil && spec.Placement == nil {
		spec.Placement = run.Placement
	}
	return c.starterFor(spec, run.AgentID)
}
