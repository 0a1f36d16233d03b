package hub

// The equipment of an agent on this machine: which parts go to a worker, and a notice about those
// that do not.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ac/events"
	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/grant"
	"ac/runs/mcpserver"
	"ac/runs/modelprofile"
	"ac/workspace/doc"
)

type noticePayload struct {
	Message string `json:"message"`
}

// equip adds the agent's equipment from the workspace to an order.
func (l *launch) equip(order *fleet.Order, machine doc.Machine) (err error) {
	o := l.order
	if o.ModelProfile != "" {
		name, profile, err := modelprofile.Find(machine, o.ModelProfile)
		if err != nil {
			return err
		}
		if modelprofile.Stored(profile) { // it may have changed since the launch
			return fault.New(fault.Conflict, "model profile %s has a value that is stored here", name)
		}
		order.Critical = append(order.Critical, fleet.CriticalProfile)
		order.ModelProfile, order.Profile = name, &profile
	}
	if o.Live == nil {
		return nil
	}
	if o.Live.MCP {
		self, err := grant.SelfOf(l.h.w, o.ProjectID, o.RunID, o.AgentID)
		if err != nil {
			return err
		}
		order.Self = &self
	}
	order.Servers, _ = servers(machine, o.Live.Driver)
	return nil
}

// servers returns the MCP servers of the workspace that a driver's agents get on a worker.
// staying are the ids of those that stay here because they contain a stored value.
func servers(machine doc.Machine, driver string) (going map[string]doc.MCPServer, staying []string) {
	for _, id := range slices.Sorted(maps.Keys(machine.MCPServers)) {
		s := machine.MCPServers[id]
		switch {
		case !s.Enabled || !slices.Contains(mcpserver.Drivers(id, s), driver):
		case mcpserver.Stored(s):
			staying = append(staying, id)
		default:
			if going == nil {
				going = map[string]doc.MCPServer{}
			}
			going[id] = s
		}
	}
	return going, staying
}

// equipmentNotice returns a notice about what a launch's agent lacks on the worker, or nothing if it lacks
// nothing.
func (l *launch) equipmentNotice(source events.Source) ([]events.Draft, error) {
	lacks, err := l.missingEquipment()
	if err != nil || len(lacks) == 0 {
		return nil, err
	}
	d, err := l.draft(source, events.RunNotice, noticePayload{fmt.Sprintf("On %s the agent does not have %s.", l.at.name, strings.Join(lacks, ", nor "))})
	return []events.Draft{d}, err
}

func (l *launch) missingEquipment() (list []string, err error) {
	o := l.order
	if o.Live == nil {
		return nil, nil
	}
	if o.Live.MCP {
		list = append(list, "the tools of ac but who_am_i and ask_human")
	}
	machine, err := l.h.w.Machine()
	if err != nil {
		return list, err
	}
	_, staying := servers(machine, o.Live.Driver)
	for _, id := range staying {
		list = append(list, "MCP server "+id+", which has a value that is stored here")
	}
	return list, nil
}
