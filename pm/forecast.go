package pm

// Forecasting the open tasks of a project under several assignments.

import (
	"math"
	"slices"
	"strings"

	"ac/workspace/doc"
)

// Forecast compares assignments of the open tasks of a project.
type Forecast struct {
	Mode        string       `json:"mode"`
	Baseline    Projection   `json:"baseline"`
	Recommended Projection   `json:"recommended"`
	Scenarios   []Projection `json:"scenarios"`
}

// Projection is the projected cost of one assignment. Scenario and Notes are set for
// scenarios only.
type Projection struct {
	Scenario   string  `json:"scenario,omitempty"`
	SpanDays   float64 `json:"projected_span_days"`
	Tokens     int64   `json:"projected_tokens"`
	CostUSD    float64 `json:"projected_cost_usd"`
	Pressure   string  `json:"capacity_pressure"`
	Bottleneck string  `json:"bottleneck_team_id,omitempty"`
	Notes      string  `json:"notes,omitempty"`
}

// Rates holds the speeds and costs of providers. A missing provider has the relative speed 1
// and the average cost. 0 means unknown.
type Rates struct {
	TokensPerHour map[string]float64
	CostPerToken  map[string]float64
	AverageCost   float64
}

// weights are the weights of speed, cost and load in a choice.
type weights struct{ speed, cost, load float64 }

// The weights of the scenarios.
var (
	throughputFirst = weights{0.76, 0.08, 0.16}
	costFirst       = weights{0.24, 0.58, 0.18}
)

const noTeam = "unassigned"

// forecaster holds the input of projections.
type forecaster struct {
	tasks      []doc.Task // open tasks only
	candidates []doc.Agent
	running    map[string]int
	rates      Rates
	median     float64
}

// ForecastOf projects the open tasks. rows are their recommendations, so that the forecast
// and the recommendations agree.
func ForecastOf(tasks []doc.Task, agents []doc.Agent, running map[string]int, rates Rates, rows []Recommendation) Forecast {
	f := &forecaster{candidates: candidates(agents), running: running, rates: rates, median: median(rates.TokensPerHour)}
	for _, t := range tasks {
		if t.Status != "done" && t.Status != "canceled" {
			f.tasks = append(f.tasks, t)
		}
	}
	recommended := map[string]string{}
	for _, row := range rows {
		recommended[row.TaskID] = row.PreferredAgentID
	}
	byID := func(id string) *doc.Agent {
		at := slices.IndexFunc(f.candidates, func(a doc.Agent) bool { return a.ID == id })
		if at < 0 {
			return nil
		}
		return &f.candidates[at]
	}
	result := Forecast{
		Mode: "simulation_v1",
		Baseline: f.project(func(t *doc.Task) *doc.Agent {
			agent, _ := choose(t, f.candidates, running)
			return agent
		}),
		Recommended: f.project(func(t *doc.Task) *doc.Agent { return byID(recommended[t.ID]) }),
	}
	fast := f.project(func(t *doc.Task) *doc.Agent { return f.best(t, throughputFirst) })
	fast.Scenario, fast.Notes = "throughput_bias", "Assigns each task to the fastest agent with free capacity, whatever it costs."
	cheap := f.project(func(t *doc.Task) *doc.Agent { return f.best(t, costFirst) })
	cheap.Scenario, cheap.Notes = "cost_bias", "Assigns each task to the cheapest agent with free capacity, even if it takes longer."
	result.Scenarios = []Projection{fast, cheap}
	return result
}

func median(rates map[string]float64) float64 {
	all := make([]float64, 0, len(rates))
	for _, rate := range rates {
		all = append(all, rate)
	}
	slices.Sort(all)
	switch n := len(all); {
	case n == 0:
		return 0
	case n%2 == 1:
		return all[n/2]
	default:
		return (all[n/2-1] + all[n/2]) / 2
	}
}

// speed returns the speed of an agent's provider relative to the median.
func (f *forecaster) speed(agent *doc.Agent) float64 {
	if agent == nil || f.median <= 0 {
		return 1
	}
	rate, ok := f.rates.TokensPerHour[agent.Provider]
	if !ok {
		return 1
	}
	return min(max(rate/f.median, 0.55), 1.75)
}

func (f *forecaster) cost(agent *doc.Agent) float64 {
	if agent != nil {
		if cost, ok := f.rates.CostPerToken[agent.Provider]; ok {
			return cost
		}
	}
	return f.rates.AverageCost
}

// pool returns the agents that may get a task: those considered for a recommendation, and the
// assignee.
func (f *forecaster) pool(t *doc.Task) []doc.Agent {
	pool := teamOf(f.candidates, t.TeamID)
	if len(pool) == 0 {
		pool = f.candidates
	}
	var own []doc.Agent
	for _, a := range pool {
		if !isOffice(a.ID) {
			own = append(own, a)
		}
	}
	if len(own) > 0 {
		pool = own
	}
	for _, a := range f.candidates {
		if a.ID == t.AssigneeAgentID && !slices.ContainsFunc(pool, func(b doc.Agent) bool { return b.ID == a.ID }) {
			pool = append(slices.Clone(pool), a)
		}
	}
	return pool
}

// best returns the agent with the highest score, the first among equals.
func (f *forecaster) best(t *doc.Task, w weights) (best *doc.Agent) {
	highest := math.Inf(-1)
	pool := f.pool(t)
	for i := range pool {
		a := &pool[i]
		saving := 1.0
		if own := f.cost(a); own > 0 && f.rates.AverageCost > 0 {
			saving = f.rates.AverageCost / own
		}
		score := f.speed(a)*w.speed + saving*w.cost + w.load/float64(1+f.running[a.ID])
		if score > highest {
			best, highest = a, score
		}
	}
	return best
}

// pressure returns the mean number of active runs of a team's candidates.
func (f *forecaster) pressure(team string) float64 {
	if team == noTeam {
		return 0
	}
	members := teamOf(f.candidates, team)
	if len(members) == 0 {
		return 0
	}
	runs := 0
	for _, a := range members {
		runs += f.running[a.ID]
	}
	return float64(runs) / float64(len(members))
}

// project adds up the tasks under an assignment.
func (f *forecaster) project(chosen func(*doc.Task) *doc.Agent) Projection {
	p := Projection{Pressure: "low"}
	days, highest := map[string]float64{}, 0.0
	for i := range f.tasks {
		t := &f.tasks[i]
		team := t.TeamID
		if strings.TrimSpace(team) == "" {
			team = noTeam
		}
		agent, pressure, running := chosen(t), f.pressure(team), 0
		if agent != nil {
			running = f.running[agent.ID]
		}
		highest = max(highest, pressure)
		slower := 1 + 0.18*float64(running) + 0.28*max(0, pressure-1)
		days[team] += max(0.5, float64(DurationDays(t))/f.speed(agent)*slower)
		budget := tokenBudget(t)
		p.Tokens += budget
		p.CostUSD += float64(budget) * f.cost(agent)
		if days[team] > p.SpanDays || days[team] == p.SpanDays && team < p.Bottleneck {
			p.SpanDays, p.Bottleneck = days[team], team
		}
	}
	p.SpanDays, p.CostUSD = math.Round(p.SpanDays*100)/100, math.Round(p.CostUSD*1e6)/1e6
	switch {
	case highest > 1:
		p.Pressure = "high"
	case highest > 0.5:
		p.Pressure = "moderate"
	}
	return p
}
