package snapshot

// The usage of runs, in total and for each run.

import (
	"cmp"
	"math"
	"slices"

	"ac/index"
	"ac/internal/collation"
)

// Usage is the usage of a workspace's runs.
type Usage struct {
	Header
	IndexState
	Totals     UsageTotals     `json:"totals"`
	ByProvider []ProviderUsage `json:"by_provider"`
	RecentRuns []RecentRun     `json:"recent_runs"`
}

// UsageTotals holds the sums over all matching runs.
type UsageTotals struct {
	Runs             int     `json:"run_count"`
	Tokens           int64   `json:"total_tokens"`
	CostUSD          float64 `json:"total_cost_usd"`
	Priced           int     `json:"priced_run_count"`
	Unpriced         int     `json:"unpriced_run_count"`
	ProviderReported int     `json:"provider_reported_count"`
	Estimated        int     `json:"estimated_count"`
	ParseErrorRuns   int     `json:"parse_error_run_count"`
}

// ProviderUsage is the usage of one provider's runs.
type ProviderUsage struct {
	Provider       string  `json:"provider"`
	Runs           int     `json:"run_count"`
	Tokens         int64   `json:"total_tokens"`
	CostUSD        float64 `json:"total_cost_usd"`
	AverageTokens  int64   `json:"average_tokens_per_run"`
	AverageCostUSD float64 `json:"average_cost_usd_per_run"`
	ParseErrorRuns int     `json:"parse_error_runs"`
}

// RecentRun is the usage of one run.
type RecentRun struct {
	ProjectID   string   `json:"project_id"`
	RunID       string   `json:"run_id"`
	Provider    string   `json:"provider"`
	Status      string   `json:"status"`
	CreatedAt   string   `json:"created_at"`
	Source      *string  `json:"usage_source"`
	Confidence  *string  `json:"usage_confidence"`
	Tokens      int64    `json:"total_tokens"`
	CostUSD     *float64 `json:"cost_usd"`
	ParseErrors int64    `json:"parse_error_count"`
}

// Usage sums up the runs of a project, or of all projects if it is "", and lists the newest runs.
func (m *View) Usage(project string, limit int) (Usage, error) {
	result := Usage{Header: m.taken, IndexState: m.indexed, ByProvider: []ProviderUsage{}, RecentRuns: []RecentRun{}}
	providers, err := m.view.ByProvider(index.RunFilter{ProjectID: project})
	if err != nil {
		return result, err
	}
	t := &result.Totals
	for _, p := range providers {
		t.Runs, t.Tokens, t.CostUSD, t.Priced = t.Runs+p.Runs, t.Tokens+p.TotalTokens, t.CostUSD+p.TotalCostUSD, t.Priced+p.PricedRuns
		t.ProviderReported, t.Estimated = t.ProviderReported+p.ProviderReported, t.Estimated+p.Estimated
		t.ParseErrorRuns += p.RunsWithErrors
		result.ByProvider = append(result.ByProvider, ProviderUsage{
			Provider: p.Provider, Runs: p.Runs, Tokens: p.TotalTokens, CostUSD: micro(p.TotalCostUSD), ParseErrorRuns: p.RunsWithErrors,
			AverageTokens: int64(math.Floor(float64(p.TotalTokens)/float64(p.Runs) + 0.5)), AverageCostUSD: micro(p.TotalCostUSD / float64(p.Runs)),
		})
	}
	t.CostUSD, t.Unpriced = micro(t.CostUSD), t.Runs-t.Priced
	byText := collation.Lazy()
	slices.SortFunc(result.ByProvider, func(a, b ProviderUsage) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), byText(a.Provider, b.Provider))
	})
	runs, err := m.runs(project, limit)
	for i := range runs {
		result.RecentRuns = append(result.RecentRuns, recent(&runs[i]))
	}
	return result, err
}

func recent(r *index.MonitoredRun) RecentRun {
	row := RecentRun{
		ProjectID: r.ProjectID, RunID: r.RunID, Provider: r.Provider, Status: r.Status, CreatedAt: r.CreatedAt,
		Source: r.UsageSource, Confidence: r.UsageConfidence, ParseErrors: r.ParseErrors,
	}
	if r.UsageTotalTokens != nil {
		row.Tokens = *r.UsageTotalTokens
	}
	if r.UsageCostUSD != nil && *r.UsageCostUSD >= 0 {
		row.CostUSD = r.UsageCostUSD
	}
	return row
}
