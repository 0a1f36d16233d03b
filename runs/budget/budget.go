// Package budget compares spending with budgets. It also sums the spending of a project's runs,
// a task's runs, and a workflow run's attempts.
//
// Invariants:
//   - Sums are exact, in whole tokens and in billionths of a dollar, the unit to which costs are
//     rounded.
//   - A threshold is reached if the actual value equals it, so that a hard limit of 0 always blocks.
//   - Unknown values count as nothing. This package never estimates them.
package budget

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"ac/workspace/doc"
)

// Scopes of a budget, in the order in which they are decided.
const (
	ScopeRun     = "run"
	ScopeProject = "project"
	ScopeTask    = "task"
	// ScopeWorkflow is the workflow run to which the run belongs as an attempt.
	ScopeWorkflow = "workflow"
)

// Values of fields in a Decision.
const (
	MetricCost   = "cost_usd"
	MetricTokens = "tokens"
	Soft         = "soft"
	Hard         = "hard"
	OK           = "ok"
	Alert        = "alert"
	Exceeded     = "exceeded"
)

// Spend is an amount spent. The zero value is nothing.
type Spend struct {
	Tokens     int64
	Billionths int64 // of a US dollar
}

// billion is the number of Spend units in a dollar.
const billion = 1_000_000_000

// Of returns the spending in a run's usage. Nil usage and unknown costs count as nothing.
func Of(u *doc.Usage) Spend {
	if u == nil {
		return Spend{}
	}
	s := Spend{Tokens: u.TotalTokens}
	if u.CostUSD != nil {
		s.Billionths = billionths(*u.CostUSD)
	}
	return s
}

func billionths(usd float64) int64 {
	parts := math.Floor(usd*billion + 0.5)
	if parts >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(parts)
}

// Plus returns the sum, saturating at the largest int64.
func (s Spend) Plus(other Spend) Spend {
	return Spend{Tokens: addSaturating(s.Tokens, other.Tokens), Billionths: addSaturating(s.Billionths, other.Billionths)}
}

func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// USD returns the cost in dollars. It is the nearest float64, so that three times 0.1 prints as
// 0.3.
func (s Spend) USD() float64 { return float64(s.Billionths) / billion }

// Scope is a budget and the spending that counts against it. A nil Budget has no limits.
type Scope struct {
	Name   string
	Budget *doc.Budget
	Actual Spend
}

// Decision is the result of comparing spending with one threshold.
type Decision struct {
	Scope     string      `json:"scope"`
	Metric    string      `json:"metric"`
	Severity  string      `json:"severity"`
	Threshold json.Number `json:"threshold"`
	Actual    json.Number `json:"actual"`
	Result    string      `json:"result,omitempty"`
	Phase     string      `json:"phase,omitempty"`
}

// Decide compares spending with every threshold that is set. It follows the order of the scopes;
// within a scope, cost precedes tokens and soft precedes hard.
func Decide(scopes ...Scope) (decisions []Decision) {
	for _, s := range scopes {
		if s.Budget == nil {
			continue
		}
		cost := func(severity string, threshold *float64) {
			if threshold != nil {
				decisions = append(decisions, decide(s.Name, MetricCost, severity, dollars(*threshold), dollars(s.Actual.USD()), s.Actual.USD() >= *threshold))
			}
		}
		tokens := func(severity string, threshold *int64) {
			if threshold != nil {
				decisions = append(decisions, decide(s.Name, MetricTokens, severity, integer(*threshold), integer(s.Actual.Tokens), s.Actual.Tokens >= *threshold))
			}
		}
		cost(Soft, s.Budget.SoftCostUSD)
		cost(Hard, s.Budget.HardCostUSD)
		tokens(Soft, s.Budget.SoftTokens)
		tokens(Hard, s.Budget.HardTokens)
	}
	return decisions
}

func decide(scope, metric, severity string, threshold, actual json.Number, reached bool) Decision {
	d := Decision{Scope: scope, Metric: metric, Severity: severity, Threshold: threshold, Actual: actual, Result: OK}
	switch {
	case reached && severity == Hard:
		d.Result = Exceeded
	case reached:
		d.Result = Alert
	}
	return d
}

func dollars(usd float64) json.Number {
	return json.Number(strconv.FormatFloat(usd, 'g', -1, 64))
}

func integer(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// Over returns the decisions that block.
func Over(decisions []Decision) (over []Decision) {
	for _, d := range decisions {
		if d.Result == Exceeded {
			over = append(over, d)
		}
	}
	return over
}

// Describe formats decisions for people: scope, metric, actual value, threshold.
func Describe(decisions []Decision) string {
	parts := make([]string, 0, len(decisions))
	for _, d := range decisions {
		parts = append(parts, fmt.Sprintf("%s %s: actual %s, %s threshold %s", d.Scope, d.Metric, d.Actual, d.Severity, d.Threshold))
	}
	return strings.Join(parts, "; ")
}
