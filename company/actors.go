package company

// The actor of an operation, read from its params.

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

// Actor returns the claimed actor.
func (p ActorParams) Actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}

// FilesActor identifies the actor who applies files.
type FilesActor struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id,omitempty" is:"optional"`
}

// Actor returns the claimed actor.
func (a FilesActor) Actor() policy.Actor {
	return policy.Actor{ID: a.ActorID, Role: a.ActorRole, Team: a.ActorTeamID}
}

// PersonParams identify the claimed actor, a person by default.
type PersonParams struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id" is:"optional"`
}

// Actor returns the claimed actor.
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

// ActingAgent returns the agent and its actor from the records. An agent without a record gets the
// role worker, which has the fewest rights.
func (c *Company) ActingAgent(p AsAgent) (AgentBrief, policy.Actor, error) {
	agent, err := c.w.Agent(p.AgentID)
	if fault.Is(err, fault.NotFound) {
		agent, err = doc.Agent{ID: p.AgentID, Name: p.AgentID, Role: "worker"}, nil
	}
	return grant.BriefOf(agent), policy.Actor{ID: p.AgentID, Role: agent.Role, Team: agent.TeamID}, err
}

// MayRead returns an error if the policy does not let an agent read something. It records no
// decision.
func (c *Company) MayRead(actor policy.Actor, r policy.Resource) error {
	return policy.Ask(c.w, policy.Question{Action: policy.Read, Resource: r, Actor: actor}).Refusal()
}

// TeamResource describes a resource that is visible to the team of an agent.
func (c *Company) TeamResource(kind, id, agent string) policy.Resource {
	return policy.Resource{ID: id, Kind: kind, Visibility: events.VisibilityTeam, Team: c.w.AgentTeam(agent)}
}
