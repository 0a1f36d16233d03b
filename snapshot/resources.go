package snapshot

// The workforce, its work and its cost.

import (
	"cmp"
	"slices"
	"strings"

	"ac/index"
	"ac/internal/collation"
	"ac/snapshot/room"
	"ac/workspace/doc"
)

// Resources holds the agents, providers and models of a workspace, or of one project.
type Resources struct {
	Header
	ProjectID string              `json:"project_id,omitempty"`
	Totals    ResourceTotals      `json:"totals"`
	Providers []ProviderResources `json:"providers"`
	Models    []ModelResources    `json:"models"`
	// Reconciliation is always present, even without bills.
	Reconciliation ReconciliationSummary `json:"reconciliation"`
	// Machines holds the counts of the hub's workers, nil if there is no hub.
	Machines *room.Machines `json:"machines,omitempty"`
}

// ResourceTotals holds the sums over agents and runs.
type ResourceTotals struct {
	Agents        int     `json:"agents"`
	Workers       int     `json:"workers"`
	ActiveWorkers int     `json:"active_workers"`
	Runs          int     `json:"runs_indexed"`
	Tokens        int64   `json:"total_tokens"`
	CostUSD       float64 `json:"total_cost_usd"`
	Cycles        int64   `json:"context_cycles_total"`
	CyclesKnown   int     `json:"context_cycles_known_runs"`
	CyclesUnknown int     `json:"context_cycles_unknown_runs"`
}

// ProviderResources holds the sums over the runs of a provider.
type ProviderResources struct {
	Provider string  `json:"provider"`
	Runs     int     `json:"run_count"`
	Tokens   int64   `json:"total_tokens"`
	CostUSD  float64 `json:"total_cost_usd"`
}

// ModelResources counts the agents that use a model.
type ModelResources struct {
	Model  string `json:"model"`
	Agents int    `json:"agent_count"`
}

// Resources returns the resources of a project, or of all projects if it is "". Agents and models
// always cover the whole workspace.
func (m *View) Resources(project string) (Resources, error) {
	result := Resources{Header: m.taken, ProjectID: project, Providers: []ProviderResources{}, Models: []ModelResources{}}
	agents, err := m.view.AgentCounters()
	if err != nil {
		return result, err
	}
	used, err := m.view.ByProvider(index.RunFilter{ProjectID: project})
	if err != nil {
		return result, err
	}
	result.Machines = m.Machines()
	t := &result.Totals
	for _, p := range used {
		t.Runs, t.Tokens, t.CostUSD = t.Runs+p.Runs, t.Tokens+p.TotalTokens, t.CostUSD+p.TotalCostUSD
		t.Cycles, t.CyclesKnown, t.CyclesUnknown = t.Cycles+p.CyclesTotal, t.CyclesKnown+p.CyclesKnownRuns, t.CyclesUnknown+p.CyclesUnknownRuns
		result.Providers = append(result.Providers, ProviderResources{p.Provider, p.Runs, p.TotalTokens, micro(p.TotalCostUSD)})
	}
	t.CostUSD = micro(t.CostUSD)
	byText := collation.Lazy()
	slices.SortFunc(result.Providers, func(a, b ProviderResources) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), byText(a.Provider, b.Provider))
	})
	active, err := m.active(project)
	if err != nil {
		return result, err
	}
	t.Agents = len(agents)
	for _, a := range agents {
		if a.Role == "worker" {
			t.Workers++
			if active[a.AgentID] {
				t.ActiveWorkers++
			}
		}
	}
	result.Models = models(agents)
	result.Reconciliation = m.summary(used)
	return result, nil
}

// active returns the agents with a running run or session.
func (m *View) active(project string) (map[string]bool, error) {
	ids, err := m.view.ActiveAgents(project)
	if err != nil {
		return nil, err
	}
	active := map[string]bool{}
	for _, id := range ids {
		active[id] = true
	}
	sessions, err := m.observed()
	if err != nil {
		return nil, err
	}
	var running []index.RunKey
	for _, s := range sessions {
		if s.Status == doc.StatusRunning && (project == "" || project == s.ProjectID) {
			running = append(running, index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID})
		}
	}
	busy, err := m.view.AgentsOf(running...)
	for _, id := range busy {
		active[id] = true
	}
	return active, err
}

// models counts agents by their model.
func models(agents []index.AgentCounter) []ModelResources {
	count := map[string]int{}
	for _, a := range agents {
		model := ""
		if a.ModelHint != nil {
			model = strings.TrimSpace(*a.ModelHint)
		}
		if model == "" {
			model = strings.TrimSpace(a.Provider) + " (default)"
		}
		count[model]++
	}
	list := make([]ModelResources, 0, len(count))
	for model, n := range count {
		list = append(list, ModelResources{model, n})
	}
	byText := collation.Lazy()
	slices.SortFunc(list, func(a, b ModelResources) int {
		return cmp.Or(cmp.Compare(b.Agents, a.Agents), byText(a.Model, b.Model))
	})
	return list
}
