package pm

import (
	"testing"

	"ac/workspace/doc"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	agent := func(id, team, provider string) doc.Agent {
		return doc.Agent{ID: id, Name: id, Role: "worker", TeamID: team, Provider: provider}
	}
	agents := []doc.Agent{agent("a", "t1", "slow"), agent("b", "t1", "fast"), agent("c", "t2", "free")}
	tasks := []doc.Task{
		{ID: "x", Title: "X", Status: "ready", TeamID: "t1", AssigneeAgentID: "a", Schedule: &doc.Schedule{DurationDays: new(4)}},
		{ID: "y", Title: "Y", Status: "ready"},
		{ID: "z", Title: "Z", Status: "done", TeamID: "t1"},
	}
	running := map[string]int{"a": 2, "b": 1}
	rates := Rates{
		TokensPerHour: map[string]float64{"slow": 100, "fast": 1000, "free": 200},
		CostPerToken:  map[string]float64{"slow": 0.001, "fast": 0.003}, AverageCost: 0.002,
	}
	rows := Recommend(tasks, agents, running)
	f := ForecastOf(tasks, agents, running, rates, rows)
	// x by a: speed 0.55, two runs, pressure 1.5: 4/0.55 * (1 + 0.36 + 0.14); y by c.
	if f.Baseline.SpanDays != 10.91 || f.Baseline.Bottleneck != "t1" || f.Baseline.Pressure != "high" || f.Baseline.Tokens != 30000 || f.Baseline.CostUSD != 36 {
		t.Errorf("baseline: %+v", f.Baseline)
	}
	if f.Recommended != f.Baseline {
		t.Errorf("the recommendations are not those that are shown: %+v", f.Recommended)
	}
	fast, cheap := f.Scenarios[0], f.Scenarios[1]
	if fast.SpanDays >= f.Baseline.SpanDays || fast.CostUSD <= f.Baseline.CostUSD || cheap.CostUSD > f.Baseline.CostUSD {
		t.Errorf("scenarios: %+v, %+v", fast, cheap)
	}
	none := ForecastOf(nil, agents, running, rates, nil)
	if want := (Projection{Pressure: "low"}); none.Baseline != want || none.Recommended != want {
		t.Errorf("without tasks: %+v", none)
	}
	// Without rates, the forecast has no cost.
	if bare := ForecastOf(tasks, agents, nil, Rates{}, rows); bare.Baseline.CostUSD != 0 || bare.Baseline.Pressure != "low" {
		t.Errorf("without figures: %+v", bare.Baseline)
	}
}
