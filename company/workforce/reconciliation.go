package workforce

// usage.reconciliation.*: bills of providers, and their comparison with the
// usage of runs.

import (
	"context"
	"strings"

	"ac/company"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/billing"
	"ac/snapshot"
	"ac/workspace/doc"
)

// RecordStatementParams are the params of usage.reconciliation.record.
type RecordStatementParams struct {
	_ struct{} `is:"strict"`
	company.Dir
	Provider      string  `json:"provider"`
	PeriodStart   string  `json:"period_start"`
	PeriodEnd     string  `json:"period_end"`
	BilledCostUSD float64 `json:"billed_cost_usd" is:"min=0"`
	BilledTokens  *int64  `json:"billed_tokens,omitempty" is:"optional,min=0"`
	Currency      string  `json:"currency,omitempty" is:"default=USD,enum=USD"`
	Source        string  `json:"source,omitempty" is:"default=manual,enum=manual|api"`
	StatementID   string  `json:"statement_id,omitempty" is:"optional,empty"`
	ExternalRef   string  `json:"external_ref,omitempty" is:"optional,empty"`
	Notes         string  `json:"notes,omitempty" is:"optional,empty"`
}

// CheckFields requires a provider and valid dates in order.
func (p *RecordStatementParams) CheckFields() []fault.Issue {
	issues := company.NotBlank("provider", p.Provider)
	_, wrong := periodOf(p.PeriodStart, p.PeriodEnd)
	for _, issue := range wrong {
		// The params' own rules reject an empty text.
		if field, ok := issue.Path[0].(string); ok && (field == "period_start" && p.PeriodStart != "" || field == "period_end" && p.PeriodEnd != "") {
			issues = append(issues, issue)
		}
	}
	return issues
}

// periodOf parses a period. Either end may be open.
func periodOf(start, end string) (p billing.Period, issues []fault.Issue) {
	const why = "must be a date such as 2026-11-20, or a timestamp"
	okStart, okEnd := true, true
	if start != "" {
		if p.From, okStart = clock.ParseDate(start); !okStart {
			issues = append(issues, fault.Issue{Path: []any{"period_start"}, Code: "custom", Message: why})
		}
	}
	if end != "" {
		if p.To, okEnd = billing.ParseEnd(end); !okEnd {
			issues = append(issues, fault.Issue{Path: []any{"period_end"}, Code: "custom", Message: why})
		}
	}
	if okStart && okEnd && start != "" && end != "" && p.To.Before(p.From) {
		issues = append(issues, fault.Issue{Path: []any{"period_end"}, Code: "custom", Message: "must not be before period_start"})
	}
	return p, issues
}

// RecordStatementResult is the result of usage.reconciliation.record.
type RecordStatementResult struct {
	WorkspaceDir string        `json:"workspace_dir"`
	Statement    doc.Statement `json:"statement"`
}

// RecordStatement records a bill of a provider. The record is durable on return.
func (c Operations) RecordStatement(ctx context.Context, p RecordStatementParams) (result RecordStatementResult, err error) {
	result = RecordStatementResult{WorkspaceDir: c.Given()}
	result.Statement, err = billing.Record(ctx, c.Workspace(), doc.Statement{
		StatementID: strings.TrimSpace(p.StatementID), Provider: strings.TrimSpace(p.Provider), PeriodStart: p.PeriodStart, PeriodEnd: p.PeriodEnd,
		Currency: p.Currency, BilledCostUSD: p.BilledCostUSD, BilledTokens: p.BilledTokens, Source: p.Source,
		ExternalRef: strings.TrimSpace(p.ExternalRef), Notes: strings.TrimSpace(p.Notes),
	})
	return result, err
}

// ReconciliationParams are the params of usage.reconciliation.snapshot.
type ReconciliationParams struct {
	_ struct{} `is:"strict"`
	company.Dir
	ProjectID   string `json:"project_id,omitempty" is:"optional,id"`
	PeriodStart string `json:"period_start,omitempty" is:"optional"`
	PeriodEnd   string `json:"period_end,omitempty" is:"optional"`
}

// CheckFields requires valid dates in order.
func (p *ReconciliationParams) CheckFields() []fault.Issue {
	_, issues := periodOf(p.PeriodStart, p.PeriodEnd)
	return issues
}

// Reconciliation compares the bills of providers with the usage of runs.
func (c Operations) Reconciliation(ctx context.Context, p ReconciliationParams) (result snapshot.Reconciliation, err error) {
	period, _ := periodOf(p.PeriodStart, p.PeriodEnd)
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Reconcile(snapshot.ReconciliationRequest{
			Project: p.ProjectID, Period: period, PeriodStart: p.PeriodStart, PeriodEnd: p.PeriodEnd,
		})
		return err
	})
	return result, err
}
