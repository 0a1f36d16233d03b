package live

// The policy of a live session. It judges the agent's requests, and may change while the session
// runs.

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

// Causes of a changed policy.
const (
	causeSet    = "set"
	causeAnswer = "answer"
)

// policyPayload is the payload of run.policy_changed.
type policyPayload struct {
	By     string        `json:"by"`
	Before doc.RunPolicy `json:"before"`
	After  doc.RunPolicy `json:"after"`
	Cause  string        `json:"cause"`
}

func (c *Conversation) policyChanged(by string, after doc.RunPolicy, cause string) events.Draft {
	d := c.draft(events.RunPolicyChanged, policyPayload{by, c.policy, after, cause})
	d.Actor, d.Visibility = cmp.Or(by, events.ActorSystem), events.VisibilityTeam
	return d
}

// setPolicy changes the policy. On return, the change is durable, and it has been applied to the
// open requests.
func (c *Conversation) setPolicy(p session.PolicyRequest) (session.PolicyResult, error) {
	if err := c.checkLive(); err != nil {
		return session.PolicyResult{}, err
	}
	after, err := policy.ApplyChange(c.policy, policy.Change{Mode: p.Mode, Level: p.Level, Rules: p.Rules, First: p.First}, p.Raise)
	if err != nil {
		return session.PolicyResult{}, err
	}
	if err := c.s.Recorder.Commit(c.policyChanged(cmp.Or(p.Actor, "human"), after, causeSet)); err != nil {
		return session.PolicyResult{}, fault.New(fault.IO, "the policy could not be recorded: %w", err)
	}
	c.applyPolicy(after)
	return session.PolicyResult{Policy: after, Resolved: c.rejudge(cmp.Or(p.Actor, "human"))}, nil
}

// applyPolicy puts a policy into force. The caller has already recorded or queued its event.
func (c *Conversation) applyPolicy(after doc.RunPolicy) {
	before := c.policy.Mode
	c.policy = after
	c.s.Note(c.ctx, func(run *doc.Run) {
		if run.Live != nil {
			run.Live.Policy = after
		}
	})
	if before != after.Mode && c.driver != nil && c.opened {
		if err := c.driver.Mode(string(after.Mode)); err != nil {
			c.handleSendError(err)
		}
	}
}

// endPlanMode ends the plan mode of an agent whose plan was allowed.
func (c *Conversation) endPlanMode(i *openRequest, by string) {
	if i.request.Kind != agent.Plan {
		return
	}
	if after, ok := policy.AfterPlan(c.policy); ok {
		c.queueEvent(c.policyChanged(by, after, causeAnswer))
		c.applyPolicy(after)
	}
}

// rejudge judges the open permissions again, and resolves those that no longer need a person. It
// returns their ids.
func (c *Conversation) rejudge(by string) (ids []string) {
	ids = []string{}
	for _, i := range slices.Clone(c.open) {
		if i.Kind != agent.Permission && i.Kind != agent.Plan {
			continue
		}
		v := c.judge(i)
		if v.Effect == doc.Ask {
			i.rule = v.RuleID
			continue
		}
		state, told := interaction.Allowed, agent.Answer{State: agent.Allowed}
		if v.Effect == doc.Deny {
			state, told = interaction.Denied, agent.Answer{State: agent.Denied, Text: "Denied by " + by + "."}
		}
		if c.s.Recorder.Commit(c.resolve(i, state, interaction.Outcome{By: by, Scope: interaction.Once, Reason: interaction.PolicyChanged})) != nil {
			return ids // the recorder stops the session
		}
		c.deliverAnswer(i, told)
		ids = append(ids, i.InteractionID)
	}
	return ids
}
