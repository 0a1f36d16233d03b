package live

// People's answers to what the agent asks.

import (
	"cmp"
	"slices"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/interaction"
	"ac/runs/policy"
	"ac/runs/session"
	"ac/workspace/doc"
)

// answer resolves an interaction. On return, the resolution is durable and the agent's stdin
// accepted the answer, unless HandedOver in the result is false.
func (c *Conversation) answer(p session.AnswerRequest) (session.AnswerResult, error) {
	if closed, known := c.closed[p.InteractionID]; known {
		return session.AnswerResult{}, closed.Closed()
	}
	n := slices.IndexFunc(c.open, func(i *openRequest) bool { return i.InteractionID == p.InteractionID })
	if n < 0 {
		return session.AnswerResult{}, interaction.NotFound(c.s.Order.RunID, p.InteractionID)
	}
	i, by := c.open[n], cmp.Or(p.Actor, "human")
	v, err := i.Decide(interaction.Answer{
		OptionID: p.OptionID, Decision: p.Decision, Scope: p.Scope, Text: p.Text, Answers: p.Answers, Note: p.Note, By: by, ByRole: p.Role,
		Cancel: p.Cancel,
	})
	if err != nil {
		return session.AnswerResult{}, err
	}
	for _, secret := range v.Secret {
		c.s.Secrets.Learn(secret)
	}
	after, changed := c.afterAnswer(i, v)
	drafts := []events.Draft{c.resolve(i, v.State, c.maskOutcome(v.Outcome))}
	if changed {
		drafts = append(drafts, c.policyChanged(by, after, causeAnswer))
	}
	if err := c.s.Recorder.Commit(drafts...); err != nil {
		return session.AnswerResult{}, fault.New(fault.IO, "the answer could not be recorded: %w", err) // the recorder stops the session
	}
	result := session.AnswerResult{InteractionID: i.InteractionID, State: v.State, ResolvedAt: i.ResolvedAt, Scope: v.Scope}
	result.HandedOver = c.deliverAnswer(i, agentAnswer(v, p))
	if changed {
		c.applyPolicy(after)
		c.rejudge(by)
	}
	return result, nil
}

// maskOutcome returns an outcome with its secrets masked.
func (c *Conversation) maskOutcome(o interaction.Outcome) interaction.Outcome {
	o.Note = c.masked(o.Note)
	if o.Text != nil {
		o.Text = new(c.masked(*o.Text))
	}
	if o.Answers != nil {
		masked := map[string][]string{}
		for id, texts := range o.Answers {
			for _, text := range texts {
				masked[id] = append(masked[id], c.masked(text))
			}
		}
		o.Answers = masked
	}
	return o
}

// agentAnswer returns the answer as sent to the agent.
func agentAnswer(v interaction.Verdict, p session.AnswerRequest) agent.Answer {
	a := agent.Answer{State: v.State, Session: v.State == interaction.Allowed && v.Scope == interaction.Session, Answers: v.Plain}
	switch {
	case p.Text != nil && (v.State == interaction.Denied || v.Kind == interaction.Input) && *p.Text != "":
		a.Text = *p.Text
	case v.State == interaction.Denied:
		a.Text = "Denied by " + v.By + "."
	}
	return a
}

// afterAnswer returns the policy after an answer, and whether the answer changed it.
func (c *Conversation) afterAnswer(i *openRequest, v interaction.Verdict) (p doc.RunPolicy, changed bool) {
	p = c.policy
	switch {
	case i.Kind == interaction.Plan && v.State == interaction.Allowed:
		return policy.AfterPlan(p)
	case i.Kind != interaction.Permission:
		return p, false
	}
	if v.State == interaction.Allowed {
		if after, ok := policy.WithoutOnce(p, i.rule); ok {
			changed, p = true, after
		}
	}
	if v.Scope == interaction.Session {
		effect := doc.Allow
		if v.State == interaction.Denied {
			effect = doc.Deny
		}
		if after, ok := policy.WithAnswer(p, effect, i.accesses...); ok {
			changed, p = true, after
		}
	}
	return p, changed
}
