package equipment

// Changes to the equipment of agents on this machine: who may make them, and their audit.

import (
	"context"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/workspace/doc"
)

// ConfiguredPayload is the payload of machine.configured: names only.
type ConfiguredPayload struct {
	Kind  string   `json:"kind"` // mcp_server or model_profile
	Names []string `json:"names"`
}

// equip changes the equipment of agents on this machine. The actor must be a person, or a
// recorded manager, director or CEO. The audit log records actor and names, never values.
func (c Operations) equip(ctx context.Context, actor policy.Actor, kind string, names []string, change func(*doc.Machine, *doc.Secrets) error) error {
	return governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		verdict, err := g.Enforce("", equipping(actor, kind))
		if err != nil {
			return err
		}
		if err := g.UpdateEquipment(change); err != nil {
			return err
		}
		return g.Emit("", "", events.Draft{Actor: verdict.Actor.ID, Type: events.MachineConfigured}, ConfiguredPayload{kind, names})
	})
}

// mayEquip returns an error for actors who may not change the equipment of agents.
func (c Operations) mayEquip(ctx context.Context, actor policy.Actor, kind string) error {
	return governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		_, err := g.Enforce("", equipping(actor, kind))
		return err
	})
}

func equipping(actor policy.Actor, kind string) policy.Question {
	return policy.Question{Action: policy.Approve, Resource: policy.Resource{ID: kind, Kind: kind, Visibility: events.VisibilityOrg}, Actor: actor}
}
