package budget_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/runs/budget"
	"ac/workspace/doc"
)

// TestLeft checks that Left returns the smallest remainder of the hard limits and splits shared
// limits equally.
func TestLeft(t *testing.T) {
	t.Parallel()
	run := budget.Spend{Tokens: 10, Billionths: 1_000_000_000}
	others := budget.Totals{Project: budget.Spend{Tokens: 100}, Task: budget.Spend{Tokens: 50}}
	for name, c := range map[string]struct {
		limits  budget.Limits
		sharing budget.Sharing
		want    *budget.Allowance
	}{
		"none":            {budget.Limits{Run: &doc.Budget{SoftTokens: new(int64(5))}}, budget.Sharing{}, nil},
		"its own":         {budget.Limits{Run: &doc.Budget{HardTokens: new(int64(40))}}, budget.Sharing{Project: 3}, &budget.Allowance{Tokens: new(int64(30))}},
		"spent":           {budget.Limits{Run: &doc.Budget{HardTokens: new(int64(5))}}, budget.Sharing{}, &budget.Allowance{Tokens: new(int64(0))}},
		"shared":          {budget.Limits{Project: &doc.Budget{HardTokens: new(int64(200))}}, budget.Sharing{Project: 3}, &budget.Allowance{Tokens: new(int64(30))}},
		"the smaller":     {budget.Limits{Run: &doc.Budget{HardTokens: new(int64(40))}, Task: &doc.Budget{HardTokens: new(int64(80))}}, budget.Sharing{Task: 2}, &budget.Allowance{Tokens: new(int64(10))}},
		"cost and tokens": {budget.Limits{Run: &doc.Budget{HardCostUSD: new(1.5)}, Project: &doc.Budget{HardTokens: new(int64(111))}}, budget.Sharing{}, &budget.Allowance{Tokens: new(int64(1)), CostUSD: new(0.5)}},
	} {
		if diff := cmp.Diff(c.want, c.limits.Left(run, others, c.sharing)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestExceeded checks that only spending beyond an earlier spend counts, and that reaching an
// allowance exceeds it.
func TestExceeded(t *testing.T) {
	t.Parallel()
	tokens := budget.Allowance{Tokens: new(int64(10))}
	cost := budget.Allowance{CostUSD: new(0.5)}
	before := budget.CountedSpend{Tokens: 100, CostUSD: 1}.Spend()
	for name, c := range map[string]struct {
		may  budget.Allowance
		now  budget.CountedSpend
		want bool
	}{
		"tokens below": {tokens, budget.CountedSpend{Tokens: 109, CostUSD: 9}, false},
		"tokens at":    {tokens, budget.CountedSpend{Tokens: 110}, true},
		"cost below":   {cost, budget.CountedSpend{Tokens: 999, CostUSD: 1.49}, false},
		"cost at":      {cost, budget.CountedSpend{CostUSD: 1.5}, true},
		"no limit":     {budget.Allowance{}, budget.CountedSpend{Tokens: 999, CostUSD: 999}, false},
	} {
		if got := c.may.Exceeded(before, c.now.Spend()); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
