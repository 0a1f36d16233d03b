package agent

// What codex used, by its threads.

import "ac/runs/usage"

// used takes what a thread was charged with so far. Before the first turn of a
// conversation that goes on that is what it had used before.
func (c *codex) used(n *codexNotice) {
	report, ok := usage.AppServer(n.TokenUsage)
	if !ok {
		return
	}
	if n.ThreadID == "" || c.thread == "" || n.ThreadID == c.thread {
		if !c.prompted {
			c.baseline = report.Counters
			return
		}
		report.Counters = report.Since(c.baseline)
	}
	c.charged[n.ThreadID] = report
	sum := usage.Sum(c.charged)
	sum.Model = orElse(c.rerouted, c.model)
	c.host.Used(sum)
}
