package budget

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/events"
	"ac/workspace/doc"
)

func drawBudget(t *rapid.T, label string) *doc.Budget {
	if rapid.IntRange(0, 3).Draw(t, label+" missing") == 0 {
		return nil
	}
	cost := func(name string) *float64 {
		if rapid.Bool().Draw(t, label+name) {
			return new(float64(rapid.IntRange(0, 12).Draw(t, name)) / 10)
		}
		return nil
	}
	tokens := func(name string) *int64 {
		if rapid.Bool().Draw(t, label+name) {
			return new(rapid.Int64Range(0, 12).Draw(t, name))
		}
		return nil
	}
	return &doc.Budget{SoftCostUSD: cost("soft cost"), HardCostUSD: cost("hard cost"), SoftTokens: tokens("soft"), HardTokens: tokens("hard")}
}

// expected returns the decisions that the rule requires, computed in decimal fractions.
func expected(scopes []Scope) (rows [][6]string) {
	for _, s := range scopes {
		if s.Budget == nil {
			continue
		}
		tenths := func(usd *float64) *big.Rat {
			if usd == nil {
				return nil
			}
			return big.NewRat(int64(math.Round(*usd*10)), 10)
		}
		count := func(n *int64) *big.Rat {
			if n == nil {
				return nil
			}
			return new(big.Rat).SetInt64(*n)
		}
		cost, tokens := big.NewRat(s.Actual.Billionths, billion), new(big.Rat).SetInt64(s.Actual.Tokens)
		for _, row := range []struct {
			metric, severity  string
			threshold, actual *big.Rat
		}{
			{"cost_usd", "soft", tenths(s.Budget.SoftCostUSD), cost}, {"cost_usd", "hard", tenths(s.Budget.HardCostUSD), cost},
			{"tokens", "soft", count(s.Budget.SoftTokens), tokens}, {"tokens", "hard", count(s.Budget.HardTokens), tokens},
		} {
			if row.threshold == nil {
				continue
			}
			result := "ok"
			if row.actual.Cmp(row.threshold) >= 0 {
				result = map[string]string{"soft": "alert", "hard": "exceeded"}[row.severity]
			}
			rows = append(rows, [6]string{s.Name, row.metric, row.severity, row.threshold.FloatString(9), row.actual.FloatString(9), result})
		}
	}
	return rows
}

func fixed(t *rapid.T, n json.Number) string {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%q is no number", n)
	}
	return r.FloatString(9)
}

// TestDecideModel compares decisions with the rule, over sums of costs that binary fractions
// cannot represent.
func TestDecideModel(t *testing.T) {
	t.Parallel()
	for range 40 { // times rapid's hundred cases
		rapid.Check(t, func(t *rapid.T) {
			var scopes []Scope
			for _, name := range []string{ScopeRun, ScopeProject, ScopeTask} {
				s := Scope{Name: name, Budget: drawBudget(t, name)}
				for range rapid.IntRange(0, 4).Draw(t, "runs") {
					u := &doc.Usage{TotalTokens: rapid.Int64Range(0, 4).Draw(t, "tokens")}
					if rapid.Bool().Draw(t, "priced") {
						u.CostUSD = new(float64(rapid.IntRange(0, 4).Draw(t, "tenths")) / 10)
					}
					s.Actual = s.Actual.Plus(Of(u))
				}
				scopes = append(scopes, s)
			}
			var got [][6]string
			for _, d := range Decide(scopes...) {
				got = append(got, [6]string{d.Scope, d.Metric, d.Severity, fixed(t, d.Threshold), fixed(t, d.Actual), d.Result})
			}
			if diff := cmp.Diff(expected(scopes), got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestZeroBlocks checks that a hard limit of 0 blocks even if nothing was spent.
func TestZeroBlocks(t *testing.T) {
	t.Parallel()
	for _, b := range []doc.Budget{{HardTokens: new(int64)}, {HardCostUSD: new(float64)}} {
		if over := Over(Decide(Scope{ScopeRun, &b, Spend{}})); len(over) != 1 {
			t.Errorf("%+v blocks %d times", b, len(over))
		}
	}
}

// TestSumsStay checks that sums are exact where floats would round, and that they never
// overflow.
func TestSumsStay(t *testing.T) {
	t.Parallel()
	var sum Spend
	for range 10 {
		sum = sum.Plus(Of(&doc.Usage{TotalTokens: 1<<53 + 1, CostUSD: new(0.1)}))
	}
	if want := (Spend{Tokens: 10<<53 + 10, Billionths: billion}); sum != want {
		t.Errorf("sum %+v, want %+v", sum, want)
	}
	huge := Of(&doc.Usage{TotalTokens: math.MaxInt64, CostUSD: new(1e300)})
	if got := huge.Plus(huge); got.Tokens != math.MaxInt64 || got.Billionths != math.MaxInt64 {
		t.Errorf("sum %+v turned over", got)
	}
}

// TestEvents checks the order of events: all decisions, then alerts, then exceeded limits.
func TestEvents(t *testing.T) {
	t.Parallel()
	decisions := Decide(
		Scope{ScopeRun, &doc.Budget{SoftTokens: new(int64(5)), HardTokens: new(int64(10))}, Spend{Tokens: 10}},
		Scope{ScopeTask, &doc.Budget{HardCostUSD: new(0.5), SoftTokens: new(int64(11))}, Spend{Tokens: 10, Billionths: billion}},
	)
	for phase, suffix := range map[string]string{"": "}", PhasePreflight: `,"phase":"preflight"}`} {
		var got []string
		_, err := Events(decisions, phase, func(kind string, payload any) (events.Draft, error) {
			text, err := json.Marshal(payload)
			got = append(got, kind+" "+string(text))
			return events.Draft{}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			`budget.decision {"scope":"run","metric":"tokens","severity":"soft","threshold":5,"actual":10,"result":"alert"` + suffix,
			`budget.decision {"scope":"run","metric":"tokens","severity":"hard","threshold":10,"actual":10,"result":"exceeded"` + suffix,
			`budget.decision {"scope":"task","metric":"cost_usd","severity":"hard","threshold":0.5,"actual":1,"result":"exceeded"` + suffix,
			`budget.decision {"scope":"task","metric":"tokens","severity":"soft","threshold":11,"actual":10,"result":"ok"` + suffix,
			`budget.alert {"scope":"run","metric":"tokens","severity":"soft","threshold":5,"actual":10` + suffix,
			`budget.exceeded {"scope":"run","metric":"tokens","severity":"hard","threshold":10,"actual":10` + suffix,
			`budget.exceeded {"scope":"task","metric":"cost_usd","severity":"hard","threshold":0.5,"actual":1` + suffix,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
