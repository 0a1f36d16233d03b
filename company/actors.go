package company

// Who acts, as the params of operations say it.

import "ac/governance/policy"

// ActorParams identify the actor.
type ActorParams struct {
	ActorID     string `json:"actor_id"`
	ActorRole   string `json:"actor_role" is:"role"`
	ActorTeamID string `json:"actor_team_id,omitempty" is:"optional"`
}

// actor is the actor as claimed.
func (p ActorParams) actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}

// FilesActor are the params that say who applies files.
type FilesActor struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id,omitempty" is:"optional"`
}

func (a FilesActor) actor() policy.Actor {
	return policy.Actor{ID: a.ActorID, Role: a.ActorRole, Team: a.ActorTeamID}
}

// PersonParams name the actor, as claimed; a person by default.
type PersonParams struct {
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id" is:"optional"`
}

// Actor is the actor as claimed.
func (p PersonParams) Actor() policy.Actor {
	return policy.Actor{ID: p.ActorID, Role: p.ActorRole, Team: p.ActorTeamID}
}
