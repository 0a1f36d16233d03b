package agent

// codex's usage, by thread.

import "ac/runs/usage"

// used records the total usage of a thread. Before the first turn of a resumed conversation, that
// total is the baseline. A report that names no thread is of the conversation's own.
func (c *codex) used(n *codexNotice) {
	report, ok := usage.AppServer(n.TokenUsage)
	if !ok {
		return
	}
	thread := orElse(n.ThreadID, c.thread)
	if c.thread == "" || thread == c.thread {
		if !c.prompted {
			c.baseline = report.Counters
			return
		}
		report.Counters = report.Since(c.baseline)
	}
	c.charged[thread] = report
	sum := usage.Sum(c.charged)
	sum.Model = orElse(c.rerouted, c.model)
	c.host.Used(sum)
}
