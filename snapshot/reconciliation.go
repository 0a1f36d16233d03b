package snapshot

// Comparing the usage of runs with the bills of providers.

import (
	"cmp"
	"math"
	"slices"

	"ac/index"
	"ac/internal/clock"
	"ac/runs/billing"
	"ac/workspace/doc"
)

// Reconciliation is the comparison over a period. Bills have no project, so the billed figures
// always cover the whole workspace.
type Reconciliation struct {
	Header
	ProjectID   string                 `json:"project_id,omitempty"`
	PeriodStart string                 `json:"period_start,omitempty"`
	PeriodEnd   string                 `json:"period_end,omitempty"`
	Totals      ReconciliationTotals   `json:"totals"`
	Coverage    ReconciliationCoverage `json:"coverage"`
	ByProvider  []ReconciledProvider   `json:"by_provider"`
	Statements  []doc.Statement        `json:"statements"`
	ByStatement []ReconciledStatement  `json:"by_statement"`
	BilledScope string                 `json:"billed_scope"`
}

// ReconciliationTotals holds the sums over all providers.
type ReconciliationTotals struct {
	Providers       int     `json:"provider_count"`
	Runs            int     `json:"internal_run_count"`
	Tokens          int64   `json:"internal_tokens"`
	CostUSD         float64 `json:"internal_cost_usd"`
	Lines           int     `json:"billed_line_count"`
	BilledTokens    *int64  `json:"billed_tokens"`
	LinesWithTokens int     `json:"billed_tokens_known_line_count"`
	BilledCostUSD   float64 `json:"billed_cost_usd"`
	TokenDelta      *int64  `json:"token_delta"`
	CostDeltaUSD    float64 `json:"cost_delta_usd"`
}

// ReconciliationCoverage counts the runs by how their cost is known.
type ReconciliationCoverage struct {
	Priced           int `json:"priced_run_count"`
	Unpriced         int `json:"unpriced_run_count"`
	ProviderReported int `json:"provider_reported_run_count"`
	Estimated        int `json:"estimated_run_count"`
}

// ReconciledProvider compares the runs of one provider with its bills.
type ReconciledProvider struct {
	Provider      string   `json:"provider"`
	Runs          int      `json:"internal_run_count"`
	Tokens        int64    `json:"internal_tokens"`
	CostUSD       float64  `json:"internal_cost_usd"`
	Lines         int      `json:"billed_line_count"`
	BilledTokens  *int64   `json:"billed_tokens"`
	BilledCostUSD float64  `json:"billed_cost_usd"`
	TokenDelta    *int64   `json:"token_delta"`
	CostDeltaUSD  float64  `json:"cost_delta_usd"`
	CostDeltaPct  *float64 `json:"cost_delta_pct"`
}

// ReconciledStatement compares one statement with the runs of its period.
type ReconciledStatement struct {
	StatementID  string  `json:"statement_id"`
	Provider     string  `json:"provider"`
	Runs         int     `json:"internal_run_count"`
	Tokens       int64   `json:"internal_tokens"`
	CostUSD      float64 `json:"internal_cost_usd"`
	Unpriced     int     `json:"unpriced_run_count"`
	CostDeltaUSD float64 `json:"cost_delta_usd"`
}

// ReconciliationRequest selects runs and statements. PeriodStart and PeriodEnd are the period as
// the caller wrote it.
type ReconciliationRequest struct {
	Project                string
	Period                 billing.Period
	PeriodStart, PeriodEnd string
}

// Reconcile compares runs and bills. It fails if a file of statements is unreadable.
func (m *View) Reconcile(r ReconciliationRequest) (Reconciliation, error) {
	result := Reconciliation{
		Header: m.taken, ProjectID: r.Project, PeriodStart: r.PeriodStart, PeriodEnd: r.PeriodEnd,
		Statements: []doc.Statement{}, ByStatement: []ReconciledStatement{}, BilledScope: "workspace",
	}
	all, err := billing.Statements(m.w)
	if err != nil {
		return result, err
	}
	for _, s := range all {
		if billing.PeriodOf(s).Overlaps(r.Period) {
			result.Statements = append(result.Statements, s)
		}
	}
	used, err := m.used(r.Project, r.Period)
	if err != nil {
		return result, err
	}
	result.Totals, result.Coverage, result.ByProvider = reconcile(used, result.Statements)
	for _, s := range result.Statements {
		used, err := m.used(r.Project, billing.PeriodOf(s))
		if err != nil {
			return result, err
		}
		row := ReconciledStatement{StatementID: s.StatementID, Provider: s.ProviderKey}
		for _, p := range used {
			if billing.Key(p.Provider) == s.ProviderKey {
				row.Runs, row.Tokens, row.CostUSD = row.Runs+p.Runs, row.Tokens+p.TotalTokens, row.CostUSD+p.TotalCostUSD
				row.Unpriced += p.Runs - p.PricedRuns
			}
		}
		row.CostDeltaUSD, row.CostUSD = micro(s.BilledCostUSD-row.CostUSD), micro(row.CostUSD)
		result.ByStatement = append(result.ByStatement, row)
	}
	return result, nil
}

// used returns the usage of the runs of a period, by provider.
func (m *View) used(project string, period billing.Period) ([]index.ProviderTotals, error) {
	filter := index.RunFilter{ProjectID: project}
	if !period.From.IsZero() {
		filter.From = clock.Nanos(period.From)
	}
	if !period.To.IsZero() {
		filter.To = clock.Nanos(period.To)
	}
	return m.view.ByProvider(filter)
}

// reconcile sums runs and statements by provider key.
func reconcile(used []index.ProviderTotals, statements []doc.Statement) (t ReconciliationTotals, c ReconciliationCoverage, rows []ReconciledProvider) {
	rows = []ReconciledProvider{}
	row := func(key string) *ReconciledProvider {
		at := slices.IndexFunc(rows, func(r ReconciledProvider) bool { return r.Provider == key })
		if at < 0 {
			at, rows = len(rows), append(rows, ReconciledProvider{Provider: key})
		}
		return &rows[at]
	}
	for _, p := range used {
		r := row(billing.Key(p.Provider))
		r.Runs, r.Tokens, r.CostUSD = r.Runs+p.Runs, r.Tokens+p.TotalTokens, r.CostUSD+p.TotalCostUSD
		c.Priced, c.Unpriced = c.Priced+p.PricedRuns, c.Unpriced+p.Runs-p.PricedRuns
		c.ProviderReported, c.Estimated = c.ProviderReported+p.ProviderReported, c.Estimated+p.Estimated
	}
	for _, s := range statements {
		r := row(s.ProviderKey)
		r.Lines, r.BilledCostUSD = r.Lines+1, r.BilledCostUSD+s.BilledCostUSD
		if s.BilledTokens != nil {
			t.LinesWithTokens++
			r.BilledTokens = added(r.BilledTokens, *s.BilledTokens)
		}
	}
	t.Providers = len(rows)
	for i := range rows {
		r := &rows[i]
		t.Runs, t.Tokens, t.CostUSD = t.Runs+r.Runs, t.Tokens+r.Tokens, t.CostUSD+r.CostUSD
		t.Lines, t.BilledCostUSD = t.Lines+r.Lines, t.BilledCostUSD+r.BilledCostUSD
		r.CostUSD, r.BilledCostUSD, r.CostDeltaUSD = micro(r.CostUSD), micro(r.BilledCostUSD), micro(r.BilledCostUSD-r.CostUSD)
		if r.BilledTokens != nil {
			delta := *r.BilledTokens - r.Tokens
			r.TokenDelta = &delta
			t.BilledTokens, t.TokenDelta = added(t.BilledTokens, *r.BilledTokens), added(t.TokenDelta, delta)
		}
		if r.CostUSD != 0 {
			pct := micro(r.CostDeltaUSD / r.CostUSD * 100)
			r.CostDeltaPct = &pct
		}
	}
	t.CostUSD, t.BilledCostUSD, t.CostDeltaUSD = micro(t.CostUSD), micro(t.BilledCostUSD), micro(t.BilledCostUSD-t.CostUSD)
	slices.SortFunc(rows, func(a, b ReconciledProvider) int {
		return cmp.Or(cmp.Compare(math.Abs(b.CostDeltaUSD), math.Abs(a.CostDeltaUSD)), cmp.Compare(a.Provider, b.Provider))
	})
	return t, c, rows
}

// added adds part to a sum that is nil until the first part.
func added(sum *int64, part int64) *int64 {
	if sum != nil {
		part += *sum
	}
	return &part
}

// ReconciliationSummary is the comparison over all time, for Resources.
type ReconciliationSummary struct {
	Totals     SummaryTotals          `json:"totals"`
	ByProvider []SummaryProvider      `json:"by_provider"`
	Coverage   ReconciliationCoverage `json:"coverage"`
	// Problem is why the statements could not be read.
	Problem string `json:"problem,omitempty"`
}

// SummaryFigures holds the figures of runs and bills in a summary.
type SummaryFigures struct {
	CostUSD       float64 `json:"internal_cost_usd"`
	BilledCostUSD float64 `json:"billed_cost_usd"`
	CostDeltaUSD  float64 `json:"cost_delta_usd"`
	Tokens        int64   `json:"internal_tokens"`
	BilledTokens  *int64  `json:"billed_tokens"`
	TokenDelta    *int64  `json:"token_delta"`
}

// SummaryTotals holds the sums over all providers.
type SummaryTotals struct {
	SummaryFigures
	Providers int `json:"provider_count"`
	Lines     int `json:"billed_line_count"`
}

// SummaryProvider is one provider in a summary.
type SummaryProvider struct {
	Provider string `json:"provider"`
	SummaryFigures
}

// summary compares runs with all statements. Unreadable statements are reported
// as a problem.
func (m *View) summary(used []index.ProviderTotals) ReconciliationSummary {
	result := ReconciliationSummary{ByProvider: []SummaryProvider{}}
	statements, err := billing.Statements(m.w)
	if err != nil {
		result.Problem = err.Error()
	}
	totals, coverage, rows := reconcile(used, statements)
	result.Coverage = coverage
	result.Totals = SummaryTotals{
		SummaryFigures{totals.CostUSD, totals.BilledCostUSD, totals.CostDeltaUSD, totals.Tokens, totals.BilledTokens, totals.TokenDelta},
		totals.Providers, totals.Lines,
	}
	for _, r := range rows {
		result.ByProvider = append(result.ByProvider, SummaryProvider{
			r.Provider, SummaryFigures{r.CostUSD, r.BilledCostUSD, r.CostDeltaUSD, r.Tokens, r.BilledTokens, r.TokenDelta},
		})
	}
	return result
}
