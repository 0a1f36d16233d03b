// Package policy decides who may do what. A decision is a pure function of the action, the
// resource and the actor. Callers record it.
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

// Approvers are those who may decide on an item. The zero value is everybody except workers.
type Approvers int

// Approvers of items that not every manager may decide on.
const (
	DirectorsApprove  Approvers = iota + 1 // and CEOs and humans
	ExecutivesApprove                      // CEOs and humans
	HumansApprove
)

// Actor is who wants to act. Team is empty if none is claimed.
type Actor struct{ ID, Role, Team string }

// Resource is what the action applies to. Team and Producer are empty for none. Sensitivity is
// that of a memory delta.
type Resource struct {
	ID, Kind, Visibility, Team, Producer string
	Sensitivity                          string
	Approvers                            Approvers
	// Askers are agents that wait for the decision. None of them may make it.
	Askers []string
}

// Decision is the outcome and the rule that it follows from.
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

// OwnRule forbids agents to decide on their own requests.
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

// RecordedRole returns the recorded role of an actor, or the claimed one for an actor without a
// readable record.
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

// Effective returns the actor as the records know it. A recorded worker stays a worker, and any
// team it claims becomes its recorded one. For other actors, the claims count. An unreadable
// record is fault.Denied, because the actor may be a worker: callers must grant nothing.
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
