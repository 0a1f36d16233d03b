// Package policy decides who may do what. The decision is a pure function of
// the action, the resource and the actor; whoever asks keeps the record of it.
package policy

import (
	"ac/internal/fault"
	"ac/workspace"
)

// Actions.
const (
	Read    = "read"
	Approve = "approve"
	Launch  = "launch"
)

// Actor is who wants to do something. Team is empty when not given.
type Actor struct{ ID, Role, Team string }

// Resource is what it is to be done to. Team and Producer are empty when there
// is none.
type Resource struct{ ID, Kind, Visibility, Team, Producer string }

// Decision is the outcome and the rule it came from.
type Decision struct {
	Allowed bool   `json:"allowed"`
	RuleID  string `json:"rule_id"`
	Reason  string `json:"reason"`
}

const roleWorker = "worker"

// Decide applies the first rule that matches.
func Decide(action string, r Resource, a Actor) Decision {
	worker := a.Role == roleWorker
	switch {
	case action == Approve && worker:
		return Decision{false, "approve.role", "role_not_allowed"}
	case r.Visibility == "org":
		return Decision{true, "vis.org", "org_visible"}
	case r.Visibility == "managers" && !worker:
		return Decision{true, "vis.managers", "manager_visible"}
	case r.Visibility == "managers":
		return Decision{false, "vis.managers", "role_not_allowed"}
	case r.Visibility == "team" && !worker:
		return Decision{true, "vis.team.manager_override", "manager_override"}
	case r.Visibility == "team" && a.Team != "" && a.Team == r.Team:
		return Decision{true, "vis.team.same_team", "same_team"}
	case r.Visibility == "team":
		return Decision{false, "vis.team.mismatch", "team_mismatch"}
	case a.Role == "human":
		return Decision{true, "vis.private.human", "human_override"}
	case r.Producer != "" && a.ID == r.Producer:
		return Decision{true, "vis.private.owner", "owner"}
	}
	return Decision{false, "vis.private.owner", "not_owner"}
}

// Effective is the actor as the records know it: a recorded worker stays a
// worker, and in its own team, whatever is claimed. Actors without a record are
// taken at their word. One whose record is there and cannot be read may be a
// worker: that is an error, and nothing is to be granted.
func Effective(w *workspace.Workspace, a Actor) (Actor, error) {
	if !workspace.SafeID(a.ID) {
		return a, nil
	}
	agent, err := w.Agent(a.ID)
	if fault.Is(err, fault.NotFound) {
		return a, nil
	}
	if err != nil {
		return a, fault.New(fault.Denied, "what %s may do cannot be told: %w", a.ID, err)
	}
	if agent.Role != roleWorker {
		return a, nil
	}
	a.Role = roleWorker
	if a.Team != "" {
		a.Team = agent.TeamID
	}
	return a, nil
}
