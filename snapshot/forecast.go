package snapshot

// Forecasting the open tasks of a project from the usage of past runs.

import (
	"strings"

	"ac/index"
	"ac/pm"
	"ac/workspace/doc"
)

// Allocations holds the recommendations for the open tasks of a project, and their forecast.
type Allocations struct {
	Recommendations []pm.Recommendation
	Forecast        pm.Forecast
}

// maxSpeedRuns is how many of the newest runs determine the speed of providers.
const maxSpeedRuns = 200

// shortestSession is the minimum duration that a session counts for, in hours.
const shortestSession = 0.05

// Allocations returns the recommendations and the forecast of a project.
func (m *View) Allocations(project string) (a Allocations, err error) {
	tasks, err := m.Tasks(project)
	if err != nil {
		return a, err
	}
	agents, err := m.w.Agents()
	if err != nil {
		return a, err
	}
	active, err := m.activeRuns()
	if err != nil {
		return a, err
	}
	load := map[string]int{}
	for _, r := range active {
		load[r.AgentID]++
	}
	a.Recommendations = pm.Recommend(tasks, agents, load)
	rates := pm.Rates{}
	if len(a.Recommendations) > 0 {
		if rates, err = m.rates(agents); err != nil {
			return a, err
		}
	}
	a.Forecast = pm.ForecastOf(tasks, agents, load, rates, a.Recommendations)
	return a, nil
}

// rates returns the speeds and costs of providers.
func (m *View) rates(agents []doc.Agent) (pm.Rates, error) {
	rates := pm.Rates{CostPerToken: map[string]float64{}}
	used, err := m.view.ByProvider(index.RunFilter{})
	if err != nil {
		return rates, err
	}
	var cost, tokens float64
	for _, p := range used {
		if p.PricedTokens > 0 {
			rates.CostPerToken[p.Provider] = p.TotalCostUSD / float64(p.PricedTokens)
			cost, tokens = cost+p.TotalCostUSD, tokens+float64(p.PricedTokens)
		}
	}
	if tokens > 0 {
		rates.AverageCost = cost / tokens
	}
	machine, _ := m.w.Machine() // without it there are no rate cards
	for _, a := range agents {
		if _, known := rates.CostPerToken[a.Provider]; known {
			continue
		}
		if card, ok := machine.Pricing[a.Provider]; ok {
			rates.CostPerToken[a.Provider] = (card.Input + card.Output) / 2 / 1000
		}
	}
	rates.TokensPerHour, err = m.speeds()
	return rates, err
}

// speeds returns, by provider, the tokens used per hour of its sessions.
func (m *View) speeds() (map[string]float64, error) {
	runs, err := m.view.RecentUse(maxSpeedRuns)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	known := make(map[index.RunKey]*index.RunUse, len(runs))
	for i := range runs {
		known[runs[i].RunKey] = &runs[i]
	}
	sessions, err := m.observed()
	if err != nil {
		return nil, err
	}
	tokens, hours := map[string]float64{}, map[string]float64{}
	for _, s := range sessions {
		run := known[index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}]
		if run == nil || s.EndedAtMS == nil || strings.TrimSpace(run.Provider) == "" {
			continue
		}
		tokens[run.Provider] += float64(run.Tokens)
		hours[run.Provider] += max(shortestSession, float64(*s.EndedAtMS-s.StartedAtMS)/3_600_000)
	}
	rates := map[string]float64{}
	for provider, n := range tokens {
		rates[provider] = n / hours[provider]
	}
	return rates, nil
}
