package orchestration

// interaction.*: requests of agents to people.

import (
	"context"

	"ac/company"
	"ac/index"
	"ac/runs"
	"ac/runs/interaction"
	"ac/snapshot"
)

// ListInteractionsParams are the params of interaction.list.
type ListInteractionsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"optional,id"`
	RunID     string `json:"run_id" is:"optional,id"`
	AgentID   string `json:"agent_id" is:"optional,id"`
	State     string `json:"state" is:"default=open,enum=open|resolved|all"`
	Kind      string `json:"kind" is:"optional,enum=permission|question|plan|input"`
	Limit     int    `json:"limit" is:"default=200,min=1,cut=500"`
}

// ListInteractions lists the requests of agents, open ones first.
func (c Operations) ListInteractions(ctx context.Context, p ListInteractionsParams) (result snapshot.Interactions, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Interactions(snapshot.InteractionQuery{
			ProjectID: p.ProjectID, RunID: p.RunID, AgentID: p.AgentID, Kind: p.Kind, State: p.State, Limit: p.Limit,
		})
		return err
	})
	return result, err
}

// InteractionParams are the params of interaction.get.
type InteractionParams struct {
	company.Dir
	ProjectID     string `json:"project_id" is:"id"`
	RunID         string `json:"run_id" is:"id"`
	InteractionID string `json:"interaction_id" is:"id"`
}

// Interaction reads one interaction from the log of its run.
func (c Operations) Interaction(ctx context.Context, p InteractionParams) (interaction.Record, error) {
	return runs.Interaction(ctx, c.Workspace(), p.ProjectID, p.RunID, p.InteractionID)
}

// OpenInteractions returns the open requests of a run's agent, from its log, oldest first.
func (c Operations) OpenInteractions(ctx context.Context, p RunPolicyParams) ([]interaction.Record, error) {
	return runs.OpenInteractions(ctx, c.Workspace(), p.ProjectID, p.RunID)
}
