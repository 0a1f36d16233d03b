package snapshot

// One agent with the sums over its runs.

import (
	"ac/internal/clock"
	"ac/workspace/doc"
)

// Profile is an agent with its figures.
type Profile struct {
	Header
	Agent   ProfileAgent   `json:"agent"`
	Metrics ProfileMetrics `json:"metrics"`
}

// ProfileAgent is the identity of an agent.
type ProfileAgent struct {
	AgentID      string `json:"agent_id"`
	Name         string `json:"name"`
	DisplayTitle string `json:"display_title,omitempty"`
	Avatar       string `json:"avatar,omitempty"`
	Role         string `json:"role"`
	Provider     string `json:"provider"`
	ModelHint    string `json:"model_hint,omitempty"`
	TeamID       string `json:"team_id,omitempty"`
	CreatedAt    string `json:"created_at"`
	TenureDays   int    `json:"tenure_days"`
}

// ProfileMetrics holds the sums over an agent's runs. Cycles is null if no run reports context
// cycles.
type ProfileMetrics struct {
	Runs         int64   `json:"total_runs"`
	Running      int64   `json:"running_runs"`
	Ended        int64   `json:"ended_runs"`
	Failed       int64   `json:"failed_runs"`
	Stopped      int64   `json:"stopped_runs"`
	Tokens       int64   `json:"total_tokens"`
	CostUSD      float64 `json:"total_cost_usd"`
	Cycles       *int64  `json:"context_cycles_count"`
	CyclesSource string  `json:"context_cycles_source"`
}

const hoursOfDay = 24

// Profile returns the figures of an agent over its runs in a project, or in all projects if it is
// "".
func (m *View) Profile(a doc.Agent, project string) (Profile, error) {
	tenure := 0
	if since, ok := clock.Parse(a.CreatedAt); ok {
		tenure = max(0, int(m.w.Env.Clock.Since(since).Hours()/hoursOfDay))
	}
	result := Profile{Header: m.taken, Agent: ProfileAgent{
		AgentID: a.ID, Name: a.Name, DisplayTitle: a.DisplayTitle, Avatar: a.Avatar, Role: a.Role, Provider: a.Provider,
		ModelHint: a.ModelHint, TeamID: a.TeamID, CreatedAt: a.CreatedAt, TenureDays: tenure,
	}}
	sums, err := m.view.AgentMetrics(a.ID, project)
	result.Metrics = ProfileMetrics{
		Runs: sums.Runs, Running: sums.Running, Ended: sums.Ended, Failed: sums.Failed, Stopped: sums.Stopped,
		Tokens: sums.TotalTokens, CostUSD: micro(sums.TotalCostUSD), Cycles: sums.Cycles, CyclesSource: "unknown",
	}
	if sums.Cycles != nil {
		result.Metrics.CyclesSource = "provider_signal"
	}
	return result, err
}
