package workforce

// Budgets, and how much of each is used.

import (
	"context"

	"ac/company"
	"ac/index"
	"ac/runs/budget"
	"ac/snapshot"
)

// BudgetsParams select a project, "" for all.
type BudgetsParams struct {
	company.Dir
	ProjectID string `json:"-"`
}

// BudgetUse is a budget and how much of it is used, in its metric.
type BudgetUse struct {
	snapshot.SeriesBudget

	Used float64
}

// Budgets lists the budgets of a project and of its tasks, or those of all projects.
func (c Operations) Budgets(ctx context.Context, p BudgetsParams) (list []BudgetUse, err error) {
	var set []snapshot.SeriesBudget
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		set, err = m.Budgets(p.ProjectID)
		return err
	})
	if err != nil {
		return nil, err
	}
	sums := budget.NewSums(c.Workspace())
	for _, b := range set {
		of := budget.Subject{Project: b.ID}
		if b.Scope == budget.ScopeTask {
			of = budget.Subject{Project: p.ProjectID, Task: b.ID}
		}
		totals, err := sums.Of(of)
		if err != nil {
			return nil, err
		}
		spent := totals.Project
		if b.Scope == budget.ScopeTask {
			spent = totals.Task
		}
		use := BudgetUse{SeriesBudget: b, Used: float64(spent.Tokens)}
		if b.Metric == budget.MetricCost {
			use.Used = spent.USD()
		}
		list = append(list, use)
	}
	return list, nil
}
