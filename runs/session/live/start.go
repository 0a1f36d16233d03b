package live

// The start of a conversation: the agent's driver and its start parameters.

import (
	"slices"
	"strings"

	"ac/runs/agent"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/usage"
	"ac/workspace/doc"
)

// driverOf creates an agent's driver.
func (c *Conversation) driverOf(name string) agent.Driver {
	switch name {
	case session.DriverCommand:
		return &command{c: c}
	case session.DriverClaude:
		return agent.Claude()
	case session.DriverACP:
		return agent.ACP()
	}
	return agent.Codex()
}

// start returns the parameters of the conversation's start.
func (c *Conversation) start() agent.Start {
	o := c.order
	s := agent.Start{
		Version: o.Version, Dir: c.s.Workdir, Model: o.Model, Named: c.named(), Sandbox: provider.Sandbox(string(c.policy.PermissionLevel)), HasApprover: o.HasApprover(),
		Mode: string(c.policy.Mode), Thread: o.Thread, MustResume: o.MustResume, Baseline: baselineOf(o.Baseline),
	}
	if c.policy.Mode == doc.ModePlan {
		s.Sandbox = provider.Sandbox(provider.ReadOnly)
	}
	if o.Files != nil {
		s.Without = o.Files.Without()
	}
	s.Servers = c.s.Servers()
	return s
}

// named reports whether the agent's command line or its model profile's variables name the model.
func (c *Conversation) named() bool {
	model := c.order.Model
	return model != "" && (slices.ContainsFunc(c.s.Order.Argv, func(word string) bool { return strings.Contains(word, model) }) ||
		slices.ContainsFunc(c.s.ProfileEnv, func(entry string) bool { return strings.HasSuffix(entry, "="+model) }))
}

// spentOf returns what a session has used so far, in the form of its record.
func spentOf(r usage.Report) *doc.ThreadBaseline {
	b := &doc.ThreadBaseline{InputTokens: r.Input, CachedInputTokens: r.Cached, OutputTokens: r.Output, ReasoningOutputTokens: r.Reasoning, CostUSD: r.CostUSD}
	if r.Total > 0 {
		b.TotalTokens = &r.Total
	}
	return b
}

// baselineOf returns what a conversation had used before, zero if unknown.
func baselineOf(b *doc.ThreadBaseline) (r usage.Report) {
	if b == nil {
		return r
	}
	r.Counters = usage.Counters{Input: b.InputTokens, Cached: b.CachedInputTokens, Output: b.OutputTokens, Reasoning: b.ReasoningOutputTokens}
	if b.TotalTokens != nil {
		r.Total = *b.TotalTokens
	}
	r.CostUSD = b.CostUSD
	return r
}
