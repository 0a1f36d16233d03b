// Package policy decides who may do what. The decision is a pure function of
// the action, the resource and the actor. The caller keeps the record.
package policy

import (
	"slices"

	"ac/internal/fault"
	"ac/workspace"
)

// Actions.
const (
	Read    = "read"
	Approve = "approve"
	Launch  = "launch"
	// Compose puts something into the context of a worker.
	Compose = "compose_context"
)

// Approvers are those who may decide on an item: everybody but workers, unless
// the item says otherwise.
type Approvers int

// Who decides on items that not every manager decides on.
const (
	DirectorsApprove  Approvers = iota + 1 // and CEOs and humans
	ExecutivesApprove                      // CEOs and humans
	HumansApprove
)

// Actor is who wants to do something. Team is empty when not given.
type Actor struct{ ID, Role, Team string }

// Resource is what it is to be done to. Team and Producer are empty when there
// is none. Sensitivity is that of a memory delta.
type Resource struct {
	ID, Kind, Visibility, Team, Producer string
	Sensitivity                          string
	Approvers                            Approvers
	// Askers are agents that wait for the decision: none of them takes it.
	Askers []string
}

// Decision is the outcome and the rule it came from.
type Decision struct {
	Allowed bool   `json:"allowed"`
	RuleID  string `json:"rule_id"`
	Reason  string `json:"reason"`
}

const (
	roleWorker   = "worker"
	roleManager  = "manager"
	roleDirector = "director"
)

// OwnRule keeps agents from deciding on what they ask themselves.
const OwnRule = "interaction.own"

// RestrictedRule keeps restricted memory out of contexts that managers and
// workers compose.
const RestrictedRule = "compose.sensitivity.restricted"

// Decide applies the first rule that matches.
func Decide(action string, r Resource, a Actor) Decision {
	worker := a.Role == roleWorker
	low := worker || a.Role == roleManager
	switch {
	case action == Approve && a.ID != "" && slices.Contains(r.Askers, a.ID):
		return Decision{false, OwnRule, "own_request"}
	case action == Approve && r.Approvers == DirectorsApprove && low:
		return Decision{false, "approve.memory.role", "role_not_allowed"}
	case action == Approve && r.Approvers == ExecutivesApprove && (low || a.Role == roleDirector):
		return Decision{false, "approve.executive_plan.role", "role_not_allowed"}
	case action == Approve && r.Approvers == HumansApprove && a.Role != "human":
		return Decision{false, "approve.files.role", "role_not_allowed"}
	case action == Compose && r.Sensitivity == "restricted" && low:
		return Decision{false, RestrictedRule, "restricted_requires_director"}
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

// RecordedRole is the role of an actor as the records have it; actors without a
// record are taken at their word.
func RecordedRole(w *workspace.Workspace, a Actor) string {
	if !workspace.SafeID(a.ID) {
		return a.Role
	}
	agent, err := w.Agent(a.ID)
	if err != nil {
		return a.Role
	}
	return agent.Role
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
