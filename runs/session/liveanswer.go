package session

// Answers of people to what the agent asks.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/redact"
	"ac/runs/agent"
	"ac/runs/policy"
	"ac/workspace/doc"
)

// AnswerRequest is what somebody answers. Who may is decided before.
type AnswerRequest struct {
	InteractionID string              `json:"interaction_id"`
	Actor         string              `json:"actor_id"`
	Role          string              `json:"actor_role"`
	OptionID      string              `json:"option_id,omitempty"`
	Decision      string              `json:"decision,omitempty"`
	Scope         string              `json:"scope,omitempty"`
	Text          *string             `json:"text,omitempty"`
	Answers       map[string][]string `json:"answers,omitempty"`
	Note          string              `json:"note,omitempty"`
}

// AnswerResult says what came of it.
type AnswerResult struct {
	InteractionID string `json:"interaction_id"`
	State         string `json:"state"`
	ResolvedAt    string `json:"resolved_at"`
	Scope         string `json:"scope,omitempty"`
	HandedOver    bool   `json:"handed_over"`
}

// kindData stands beside interaction_kind_mismatch.
type kindData struct {
	Kind string `json:"kind"`
}

// answer resolves an interaction as somebody wishes. The resolution is durable, and
// the agent's stdin took it unless the result says otherwise, when it returns.
func (c *conversation) answer(p AnswerRequest) (AnswerResult, error) {
	n := slices.IndexFunc(c.open, func(i *interaction) bool { return i.ID == p.InteractionID })
	if n < 0 {
		return AnswerResult{}, fault.New(fault.InteractionClosed, "interaction %s is not open", p.InteractionID)
	}
	i := c.open[n]
	said, told, err := c.decide(i, p)
	if err != nil {
		return AnswerResult{}, err
	}
	said.ID, said.Kind, said.By, said.ByRole, said.Reason = i.ID, i.Kind, cmp.Or(p.Actor, "human"), p.Role, reasonDecision
	said.Note = clippedTo(c.masked(p.Note), 4<<10)
	drafts := []eventDraft{c.resolved(said)}
	changed, changes := c.afterAnswer(i, said)
	if changed {
		drafts = append(drafts, c.policyChanged(said.By, changes, causeAnswer))
	}
	drafts[0].At = c.s.w.Env.Clock.Now()
	if err := c.s.recorder.commit(drafts...); err != nil {
		return AnswerResult{}, fault.New(fault.IO, "the answer could not be recorded: %w", err)
	}
	c.drop(i)
	result := AnswerResult{InteractionID: i.ID, State: said.State, ResolvedAt: clock.Stamp(drafts[0].At), Scope: said.Scope}
	result.HandedOver = c.hand(i, told)
	if changed {
		c.adopt(changes)
		c.rejudge(said.By)
	}
	return result, nil
}

// decide holds an answer to what was asked: what the log tells of it, and what the
// agent is told.
func (c *conversation) decide(i *interaction, p AnswerRequest) (said resolvedPayload, told agent.Answer, err error) {
	mismatch := func(format string, args ...any) error {
		return fault.New(fault.InteractionKindMismatch, format, args...).With(kindData{i.Kind})
	}
	switch i.Kind {
	case agent.Permission, agent.Plan:
		return c.decidePermission(i, p, mismatch)
	case agent.Input:
		if p.Text == nil || p.OptionID != "" || p.Decision != "" || p.Answers != nil {
			return said, told, mismatch("an input is answered with text")
		}
		said.State, said.Text = agent.Answered, c.masked(*p.Text)
		return said, agent.Answer{State: agent.Answered, Text: *p.Text}, nil
	}
	answers, err := c.given(i, p, mismatch)
	if err != nil {
		return said, told, err
	}
	said.State, said.OptionID, said.Answers = agent.Answered, p.OptionID, map[string][]string{}
	for _, q := range i.Questions {
		texts, ok := answers[q.ID]
		if !ok {
			continue
		}
		shown := make([]string, len(texts))
		for n, text := range texts {
			if shown[n] = c.masked(text); q.Secret {
				shown[n] = redact.Mask
				c.s.secrets.Learn(text)
			}
		}
		said.Answers[q.ID] = shown
	}
	return said, agent.Answer{State: agent.Answered, Answers: answers}, nil
}

func (c *conversation) decidePermission(i *interaction, p AnswerRequest, mismatch func(string, ...any) error) (said resolvedPayload, told agent.Answer, err error) {
	effect, scope := p.Decision, cmp.Or(p.Scope, "once")
	if p.OptionID != "" {
		n := slices.IndexFunc(i.Options, func(o option) bool { return o.ID == p.OptionID })
		if n < 0 {
			return said, told, fault.InvalidField("option_id", "is not one of the options")
		}
		effect, scope = i.Options[n].Effect, i.Options[n].Scope
	}
	if effect == "" || p.Answers != nil {
		return said, told, mismatch("a %s is answered with an option or a decision", i.Kind)
	}
	if effect == "allow" && scope == "session" && !slices.ContainsFunc(i.Options, func(o option) bool { return o.Scope == "session" }) {
		scope = "once"
	}
	said = resolvedPayload{State: agent.Allowed, Scope: scope, OptionID: p.OptionID}
	told = agent.Answer{State: agent.Allowed, Session: scope == "session"}
	if effect == "deny" {
		said.State, told = agent.Denied, agent.Answer{State: agent.Denied, Text: "Denied by " + cmp.Or(p.Actor, "human") + "."}
	}
	if p.Text != nil && strings.TrimSpace(*p.Text) != "" {
		said.Text = c.masked(*p.Text)
		if effect == "deny" {
			told.Text = *p.Text
		}
	}
	return said, told, nil
}

// given are the answers to the questions of an interaction.
func (c *conversation) given(i *interaction, p AnswerRequest, mismatch func(string, ...any) error) (map[string][]string, error) {
	if p.Decision != "" {
		return nil, mismatch("a question is answered with its choices")
	}
	answers := p.Answers
	if len(i.Questions) == 1 && answers == nil {
		q := i.Questions[0]
		switch {
		case p.OptionID != "":
			n := slices.IndexFunc(i.Options, func(o option) bool { return o.ID == p.OptionID })
			if n < 0 {
				return nil, fault.InvalidField("option_id", "is not one of the options")
			}
			answers = map[string][]string{q.ID: {q.Options[n].Label}}
		case p.Text != nil:
			answers = map[string][]string{q.ID: {*p.Text}}
		}
	}
	if answers == nil {
		return nil, mismatch("several questions are answered with answers")
	}
	for id, texts := range answers {
		n := slices.IndexFunc(i.Questions, func(q question) bool { return q.ID == id })
		if n < 0 {
			return nil, fault.Invalid(fault.Issue{Path: []any{"answers", id}, Code: "custom", Message: "is not one of the questions"})
		}
		q := i.Questions[n]
		if len(texts) > 1 && !q.Multi {
			return nil, fault.Invalid(fault.Issue{Path: []any{"answers", id}, Code: "custom", Message: "takes one answer"})
		}
		for _, text := range texts {
			if !q.Free && !slices.ContainsFunc(q.Options, func(o choice) bool { return o.Label == text }) {
				return nil, fault.Invalid(fault.Issue{Path: []any{"answers", id}, Code: "custom", Message: fmt.Sprintf("%q is not one of the choices", text)})
			}
		}
	}
	return answers, nil
}

// afterAnswer is the policy as an answer leaves it, and whether that is another one.
func (c *conversation) afterAnswer(i *interaction, said resolvedPayload) (changed bool, p doc.RunPolicy) {
	p = c.policy
	switch {
	case i.Kind == agent.Plan && said.State == agent.Allowed:
		after, ok := policy.AfterPlan(p)
		return ok, after
	case i.Kind != agent.Permission:
		return false, p
	}
	if said.State == agent.Allowed {
		if after, ok := policy.WithoutOnce(p, i.rule); ok {
			changed, p = true, after
		}
	}
	if said.Scope == "session" {
		effect := doc.Allow
		if said.State == agent.Denied {
			effect = doc.Deny
		}
		if after, ok := policy.WithAnswer(p, effect, i.accesses...); ok {
			changed, p = true, after
		}
	}
	return changed, p
}
