package supervisor

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ac/runs/budget"
	"ac/runs/session"
	"ac/workspace/doc"
)

func watchOf(limits budget.Limits, cards map[string]doc.RateCard) (b *budgetWatch, stops *atomic.Int32) {
	stops = new(atomic.Int32)
	b = &budgetWatch{limits: limits, cards: cards, patience: budgetPatience, stop: func() { stops.Add(1) }, allowance: &allowance{}}
	b.allowance.watch(b.recheck)
	return b, stops
}

func tokens(n int64) *doc.Usage { return &doc.Usage{Provider: "cmd", TotalTokens: n} }

// allow sets what the watched session may still spend.
func (b *budgetWatch) allow(t *testing.T, may budget.Allowance, after time.Duration) {
	t.Helper()
	if _, err := b.allowance.set(session.LimitsRequest{Allowance: &may, InForceAfterMS: after.Milliseconds()}); err != nil {
		t.Error(err)
	}
}

// TestBudgetWatch checks that a provider is stopped after five seconds over a hard limit, and
// only then.
func TestBudgetWatch(t *testing.T) {
	t.Parallel()
	hard := budget.Limits{Run: &doc.Budget{SoftTokens: new(int64(10)), HardTokens: new(int64(100))}}
	project := budget.Limits{Project: &doc.Budget{HardTokens: new(int64(100))}}
	priced := budget.Limits{Run: &doc.Budget{HardCostUSD: new(0.05)}}
	for name, c := range map[string]struct {
		limits budget.Limits
		cards  map[string]doc.RateCard
		do     func(b *budgetWatch)
		after  time.Duration // 0: never
	}{
		"below": {hard, nil, func(b *budgetWatch) { b.reported(tokens(99), nil) }, 0},
		"at the limit": {hard, nil, func(b *budgetWatch) {
			b.reported(tokens(50), nil)
			time.Sleep(time.Hour)
			b.reported(tokens(100), nil)
		}, time.Hour + 5*time.Second},
		"more reports begin nothing anew": {hard, nil, func(b *budgetWatch) {
			b.reported(tokens(100), nil)
			time.Sleep(4 * time.Second)
			b.reported(tokens(200), nil)
		}, 5 * time.Second},
		"below again": {hard, nil, func(b *budgetWatch) {
			b.reported(tokens(100), nil)
			time.Sleep(4 * time.Second)
			b.reported(tokens(50), nil)
		}, 0},
		"ended before": {hard, nil, func(b *budgetWatch) {
			b.reported(tokens(100), nil)
			time.Sleep(4 * time.Second)
			b.close()
			b.reported(tokens(200), nil)
		}, 0},
		"nothing known of others": {project, nil, func(b *budgetWatch) { b.reported(tokens(200), nil) }, 0},
		"on top of others": {project, nil, func(b *budgetWatch) {
			b.reported(tokens(10), nil)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.others = &budget.Totals{Project: budget.Spend{Tokens: 90}}
			b.compare()
		}, 5 * time.Second},
		"nothing reported": {project, nil, func(b *budgetWatch) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.others = &budget.Totals{Project: budget.Spend{Tokens: 900}}
			b.compare()
		}, 0},
		"no card": {priced, nil, func(b *budgetWatch) { b.reported(tokens(1<<40), nil) }, 0},
		"with a card": {priced, map[string]doc.RateCard{"default": {Input: 1, Output: 1}}, func(b *budgetWatch) {
			b.reported(tokens(49), nil)
			b.reported(tokens(50), nil)
		}, 5 * time.Second},
		"an allowance that waits for the next": {budget.Limits{}, nil, func(b *budgetWatch) {
			b.reported(tokens(50), tokens(1000))
			for range 3 {
				b.allow(t, budget.Allowance{Tokens: new(int64(10))}, 20*time.Second)
				time.Sleep(19 * time.Second)
				b.reported(tokens(b.allowance.spent.Tokens+20), tokens(1000))
			}
			b.allow(t, budget.Allowance{Tokens: new(int64(10))}, 20*time.Second)
			b.reported(tokens(b.allowance.spent.Tokens+9), nil)
		}, 0},
		"an allowance that nobody replaced": {budget.Limits{}, nil, func(b *budgetWatch) {
			b.reported(tokens(50), nil)
			b.allow(t, budget.Allowance{Tokens: new(int64(10))}, 20*time.Second)
			b.reported(tokens(60), nil)
		}, 25 * time.Second},
		"of what was counted": {budget.Limits{}, nil, func(b *budgetWatch) {
			b.reported(tokens(50), nil)
			b.allow(t, budget.Allowance{Tokens: new(int64(10)), Counted: &budget.CountedSpend{Tokens: 40}}, 0)
		}, 5 * time.Second},
		"lifted in time": {budget.Limits{}, nil, func(b *budgetWatch) {
			b.reported(tokens(50), nil)
			b.allow(t, budget.Allowance{Tokens: new(int64(0))}, 0)
			time.Sleep(4 * time.Second)
			if _, err := b.allowance.set(session.LimitsRequest{}); err != nil {
				t.Error(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, stops := watchOf(c.limits, c.cards)
				began := time.Now()
				c.do(b)
				if c.after > 0 {
					time.Sleep(c.after - time.Since(began) - time.Millisecond)
					synctest.Wait()
					if stops.Load() != 0 {
						t.Fatal("stopped early")
					}
					time.Sleep(time.Millisecond)
				} else {
					time.Sleep(time.Hour)
				}
				synctest.Wait()
				b.close()
				if want := c.after > 0; b.stopped != want || (stops.Load() == 1) != want {
					t.Errorf("stopped %d times, want it: %v", stops.Load(), want)
				}
			})
		})
	}
}

// TestBudgetWatchFiredTimer checks that a stale timer does not cut a new grace period short.
// The timer has fired, but waits for the lock while the usage drops and rises again.
func TestBudgetWatchFiredTimer(t *testing.T) {
	t.Parallel()
	b, stops := watchOf(budget.Limits{Run: &doc.Budget{HardTokens: new(int64(100))}}, nil)
	b.patience = time.Hour
	b.reported(tokens(100), nil)
	fired := b.timer
	b.reported(tokens(50), nil)
	b.reported(tokens(100), nil)
	b.expire(&fired) // as it does once it gets the lock
	b.close()
	if b.stopped || stops.Load() != 0 {
		t.Errorf("stopped %d times", stops.Load())
	}
}
