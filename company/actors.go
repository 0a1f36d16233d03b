package company

// The actor of an operation, from its params.

import (
	"ac/events"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs/grant"
	"ac/workspace/doc"
)

// ActorParams identify the actor.
type ActorParams struct {
	ActorID     string `json:"actor_id"`
	ActorRole   string `json:"actor_role" is:"role"`
	ActorTeamID string `json:"actor_team_id,omitempty" is:"optional"`
}

// Actor is the actor as claimed.
func (p ActorParams) Actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}

// FilesActor are the params that identify the actor who applies files.
type FilesActor struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id,omitempty" is:"optional"`
}

// Actor is the actor as claimed.
func (a FilesActor) Actor() policy.Actor {
	return policy.Actor{ID: a.ActorID, Role: a.ActorRole, Team: a.ActorTeamID}
}

// PersonParams identify the actor as claimed, a person by default.
type PersonParams struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id" is:"optional"`
}

// Actor is the actor as claimed.
func (p PersonParams) Actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}

// AsAgent identifies the acting agent and its run. The supervisor of the run's session sets
// it, never the agent.
type AsAgent struct {
	Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id" is:"id"`
	AgentID   string `json:"agent_id" is:"id"`
}

// AgentBrief is an agent as its colleagues know it.
type AgentBrief = grant.Brief

// Acting returns the agent and its actor as recorded. An agent without a record has the
// fewest rights.
func (c *Company) Acting(p AsAgent) (AgentBrief, policy.Actor, error) {
	agent, err := c.w.Agent(p.AgentID)
	if fault.Is(err, fault.NotFound) {
		agent, err = doc.Agent{ID: p.AgentID, Name: p.AgentID, Role: "worker"}, nil
	}
	return grant.BriefOf(agent), policy.Actor{ID: p.AgentID, Role: agent.Role, Team: agent.TeamID}, err
}

// MayRead asks the policy whether an agent may read something.
func (c *Company) MayRead(actor policy.Actor, r policy.Resource) error {
	return policy.Ask(c.w, policy.Question{Action: policy.Read, Resource: r, Actor: actor}).Refusal()
}

// TeamResource is what the team of an agent may see.
func (c *Company) TeamResource(kind, id, agent string) policy.Resource {
	return policy.Resource{ID: id, Kind: kind, Visibility: events.VisibilityTeam, Team: c.w.AgentTeam(agent)}
}
