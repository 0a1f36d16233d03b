package budget

// What a run may still spend while those who count all runs cannot be asked.

import "ac/workspace/doc"

// Allowance is what a session may still spend. A nil member has no limit.
type Allowance struct {
	Tokens  *int64   `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// Counted is what the session had spent already when this was worked out; nil for
	// what it had reported when it heard of it.
	Counted *Counted `json:"counted,omitempty"`
}

// Counted is an amount as it travels.
type Counted struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// Spend is the amount.
func (c Counted) Spend() Spend { return Spend{Tokens: c.Tokens, Billionths: billionths(c.CostUSD)} }

// Exceeded reports whether a session that had spent one amount has reached the allowance
// when it has spent another.
func (a Allowance) Exceeded(before, now Spend) bool {
	return a.Tokens != nil && now.Tokens-before.Tokens >= *a.Tokens ||
		a.CostUSD != nil && now.Billionths-before.Billionths >= billionths(*a.CostUSD)
}

// Left is what the hard limits leave to one of several sessions: of its run's all, of the
// others' an equal part for each of the sessions that they cover. It is nil where no hard
// limit holds, and never negative.
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

// Sharing is how many live sessions share what a project, a task and a run of a workflow
// may spend, the one that is asked about included.
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
