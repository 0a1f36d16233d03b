package supervisor

// Budgets of a run: enforcement while it runs, and the decisions at its end.

import (
	"cmp"
	"sync"
	"time"

	"ac/events"
	"ac/runs/budget"
	"ac/runs/session"
	"ac/runs/usage"
	"ac/workspace/doc"
)

// budgetPatience is how long reported usage may stay over a hard limit.
const budgetPatience = 5 * time.Second

// budgetWatch stops a provider whose reported usage stays over a hard limit. It is safe for
// concurrent use. A nil watch ignores reports.
type budgetWatch struct {
	limits    budget.Limits
	sums      *budget.Sums
	cards     map[string]doc.RateCard
	patience  time.Duration
	stop      func()
	summing   sync.WaitGroup
	allowance *allowance // set by the hub that counts for all runs

	mu      sync.Mutex
	others  *budget.Totals // what other runs had spent at the start; nil until known
	spent   *budget.Spend  // what this run reported; nil before its first report
	timer   *time.Timer    // runs while over a limit
	stopped bool           // by this watch
	closed  bool
}

// watchBudget starts a watch on the run. A goroutine sums what other runs have spent. Limits that
// include them apply once the sum is known.
func (s *supervisor) watchBudget() *budgetWatch {
	b := &budgetWatch{
		limits: budget.LimitsOf(s.w, s.order.Budget, s.order.Subject()), sums: budget.NewSums(s.w),
		patience: budgetPatience, stop: func() { s.requestStop(false) }, allowance: s.allowance,
	}
	s.allowance.watch(b.recheck)
	if s.host.BudgetPatience > 0 {
		b.patience = s.host.BudgetPatience
	}
	if machine, err := s.w.Machine(); err == nil {
		b.cards = machine.Pricing
	}
	if b.limits.NeedSums() {
		b.summing.Go(func() {
			// If the other runs cannot be summed, only the end decides on those limits.
			if others, err := b.sums.Of(s.order.Subject()); err == nil {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.others = &others
				b.compare()
			}
		})
	}
	return b
}

// reported records what the provider has reported so far. prior is what earlier sessions used.
func (b *budgetWatch) reported(u, prior *doc.Usage) {
	if b == nil {
		return
	}
	usage.Price(u, b.cards)
	b.allowance.count(budget.Of(u))
	u = session.SumUsage(prior, u)
	spent := budget.Of(u)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = &spent
	b.compare()
}

// recheck repeats the comparison.
func (b *budgetWatch) recheck() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.compare()
}

// compare starts or stops the grace period over a limit. The caller holds b.mu.
func (b *budgetWatch) compare() {
	if b.spent == nil || b.closed {
		return
	}
	limits, others := budget.Limits{Run: b.limits.Run}, budget.Totals{}
	if b.others != nil {
		limits, others = b.limits, *b.others
	}
	over := len(budget.Over(limits.Decide(*b.spent, others))) > 0 || b.allowance.exceeded()
	switch {
	case over && b.timer == nil:
		var timer *time.Timer
		timer = time.AfterFunc(b.patience, func() { b.expire(&timer) })
		b.timer = timer
	case !over && b.timer != nil:
		b.timer.Stop()
		b.timer = nil
	}
}

// expire stops the provider, unless the run has just ended or dropped below its limits. Since then
// another grace period may have begun, with another timer. It reads the timer under the lock that
// compare holds while creating it.
func (b *budgetWatch) expire(timer **time.Timer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed && b.timer == *timer {
		b.stopped = true
		b.stop()
	}
}

// close ends the watch. It stops nothing afterwards.
func (b *budgetWatch) close() {
	b.allowance.close()
	b.mu.Lock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	b.summing.Wait()
}

// budgetDecider does the slow reading for the decisions at the end, and returns the function that
// decides, to be called under the write lock. If a limit was exceeded, that function sets the
// status and the error that callers see.
func (s *supervisor) budgetDecider(c *session.Closing) func() (told []events.Draft, exceeded bool, err error) {
	if c.Usage == nil || s.budget == nil {
		return func() ([]events.Draft, bool, error) { return nil, false, nil }
	}
	limits := budget.LimitsOf(s.w, s.order.Budget, s.order.Subject())
	others := func() (budget.Totals, error) {
		if !limits.NeedSums() {
			return budget.Totals{}, nil
		}
		return s.budget.sums.Of(s.order.Subject())
	}
	_, _ = others() // warms the cache, so that little is left to read under the lock
	return func() ([]events.Draft, bool, error) {
		total, err := others()
		if err != nil {
			return nil, false, err
		}
		decisions := limits.Decide(budget.Of(c.Usage), total)
		over := budget.Over(decisions)
		exceeded := len(over) > 0 || s.budget.stopped
		if exceeded && c.Status == doc.StatusEnded {
			c.Status, c.Record.Status = doc.StatusFailed, doc.StatusFailed
		}
		if exceeded && c.Status == doc.StatusFailed && c.Record.Error == "" {
			c.Record.Error = "budget exceeded: " + cmp.Or(budget.Describe(over), "what was left to it")
			if s.budget.stopped {
				c.Record.Error = "stopped in mid-run, " + c.Record.Error
			}
		}
		told, err := budget.Events(decisions, "", s.draft)
		return told, exceeded, err
	}
}
