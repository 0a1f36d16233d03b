package budget

// The allowance of a run: what it may spend while the component that counts all runs is
// unreachable.

import "ac/workspace/doc"

// Allowance is the amount that a session may still spend. A nil field means no limit.
type Allowance struct {
	Tokens  *int64   `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Counted is what the session had spent when the allowance was computed. If nil, the
	// allowance starts from what the session had reported when it received the allowance.
	Counted *CountedSpend `json:"counted,omitempty"`
}

// CountedSpend is the serialized form of a Spend.
type CountedSpend struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// Spend converts the amount.
func (c CountedSpend) Spend() Spend {
	return Spend{Tokens: c.Tokens, Billionths: billionths(c.CostUSD)}
}

// Exceeded reports whether a session has used up the allowance. before is its spending at the
// allowance's start, now its current spending.
func (a Allowance) Exceeded(before, now Spend) bool {
	return a.Tokens != nil && now.Tokens-before.Tokens >= *a.Tokens ||
		a.CostUSD != nil && now.Billionths-before.Billionths >= billionths(*a.CostUSD)
}

// Left returns what the hard limits leave for one session. A run's limit applies to it alone.
// All other limits are divided evenly among the live sessions that share them. Left returns nil
// if no hard limit applies. Amounts are never negative.
func (l Limits) Left(run Spend, others Totals, sharing Sharing) *Allowance {
	left := Allowance{}
	left.bound(l.Run, run, 1)
	left.bound(l.Project, others.Project.Plus(run), sharing.Project)
	left.bound(l.Task, others.Task.Plus(run), sharing.Task)
	left.bound(l.Workflow, others.Workflow.Plus(run), sharing.Workflow)
	if left.Tokens == nil && left.CostUSD == nil {
		return nil
	}
	return &left
}

// Sharing counts the live sessions that share the limits of a project, a task and a workflow
// run, including the session in question.
type Sharing struct{ Project, Task, Workflow int }

func (a *Allowance) bound(limit *doc.Budget, spent Spend, sharing int) {
	if limit == nil {
		return
	}
	parts := int64(max(sharing, 1))
	if limit.HardTokens != nil {
		if left := max(0, *limit.HardTokens-spent.Tokens) / parts; a.Tokens == nil || left < *a.Tokens {
			a.Tokens = &left
		}
	}
	if limit.HardCostUSD != nil {
		left := Spend{Billionths: max(0, billionths(*limit.HardCostUSD)-spent.Billionths) / parts}.USD()
		if a.CostUSD == nil || left < *a.CostUSD {
			a.CostUSD = &left
		}
	}
}
