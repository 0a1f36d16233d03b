package fullscreen

import (
	"slices"
	"testing"

	"ac/company/workforce"
	"ac/runs/budget"
	"ac/snapshot"
)

// TestBudgetTable checks the rows of unused, half used and exceeded budgets. Narrow terminals get
// no bars.
func TestBudgetTable(t *testing.T) {
	t.Parallel()
	budgets := []workforce.BudgetUse{
		{SeriesBudget: snapshot.SeriesBudget{Scope: budget.ScopeProject, Name: "Checkout", Metric: budget.MetricCost, Limit: 12.5}},
		{SeriesBudget: snapshot.SeriesBudget{Scope: budget.ScopeProject, Name: "Checkout", Metric: budget.MetricTokens, Limit: 1000}, Used: 500},
		{SeriesBudget: snapshot.SeriesBudget{Scope: budget.ScopeTask, Name: "Mend it", Metric: budget.MetricCost, Limit: 2}, Used: 3},
	}
	table := budgetTable(budgets, false)
	for width, want := range map[int][]string{
		80: {
			"BUDGET         USED           OF",
			"Checkout          -       $12.50    0 %  --------------------",
			"Checkout        500  1.0k tokens   50 %  ##########----------",
			"task Mend it  $3.00        $2.00  150 %  ####################",
		},
		40: {
			"BUDGET         USED           OF",
			"Checkout          -       $12.50    0 %",
			"Checkout        500  1.0k tokens   50 %",
			"task Mend it  $3.00        $2.00  150 %",
		},
	} {
		if got := table.Lines(width, false); !slices.Equal(got, want) {
			t.Errorf("in %d columns:\n%q\nwant\n%q", width, got, want)
		}
	}
}
