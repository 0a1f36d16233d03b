// Package policy judges what an agent asks for: its run's permission level, its
// rules and its mode say whether that is allowed, denied, or for a person to
// decide. Everything here is a function of its arguments; the one thing that is
// read is links, by a function that the caller passes in (Links).
//
// Invariants: a level is never exceeded by a rule or a mode; a deny rule wins
// over every other; what nothing speaks for is asked; what cannot be asked is
// denied.
package policy

import "ac/workspace/doc"

// Access is one thing that a permission is asked for. The resource of a file is
// as Root.Accesses makes it, that of a command as Command does.
type Access struct {
	Operation doc.Operation
	Resource  string
}

// By names what decided.
type By string

// What decides, in the order of judgement.
const (
	ByLevel          By = "level"
	ByRule           By = "rule"
	ByOwnTool        By = "own_tool"
	ByMode           By = "mode"
	ByDefault        By = "default"
	ByNotInteractive By = "not_interactive"
)

// Situation is what a judgement depends on beside the policy.
type Situation struct {
	// Interactive: somebody can be asked. Otherwise what would be asked is denied.
	Interactive bool
	// OwnTools: the agent was given ac's own MCP server under the name ac.
	OwnTools bool
}

// Verdict is the outcome of a judgement.
type Verdict struct {
	Effect doc.Effect
	By     By
	RuleID string // of the rule that decided, "" for none
	Access Access // the one that decided; of several with the same effect the first
}

// OwnServer is the name under which agents know ac's own MCP server.
const OwnServer = "ac"

// Judge decides a request for some accesses, all of which have to be allowed: the
// verdict is the strictest of theirs. A request for nothing known is asked.
func Judge(p doc.RunPolicy, s Situation, accesses ...Access) Verdict {
	worst := Verdict{Effect: doc.Ask, By: ByDefault}
	for i, a := range accesses {
		if v := judgeOne(p, s, a); i == 0 || strictness(v.Effect) > strictness(worst.Effect) {
			worst = v
		}
	}
	return s.answerable(worst)
}

// JudgePlan decides whether a plan that an agent presents is carried out.
func JudgePlan(p doc.RunPolicy, s Situation) Verdict {
	v := Verdict{Effect: doc.Ask, By: ByMode}
	if borne(p) == doc.ModeFullAuto {
		v.Effect = doc.Allow
	}
	return s.answerable(v)
}

// answerable makes a denial of what nobody can be asked.
func (s Situation) answerable(v Verdict) Verdict {
	if v.Effect == doc.Ask && !s.Interactive {
		return Verdict{Effect: doc.Deny, By: ByNotInteractive, Access: v.Access}
	}
	return v
}

func strictness(e doc.Effect) int {
	switch e {
	case doc.Allow:
		return 0
	case doc.Ask:
		return 1
	case doc.Deny:
	}
	return 2
}

// judgeOne goes through the steps of judgement for one access.
func judgeOne(p doc.RunPolicy, s Situation, a Access) Verdict {
	if deniedByLevel(p.PermissionLevel, a) {
		return Verdict{Effect: doc.Deny, By: ByLevel, Access: a}
	}
	for _, rule := range p.Rules {
		if rule.Effect == doc.Deny && Matches(rule, a) {
			return Verdict{Effect: doc.Deny, By: ByRule, RuleID: rule.ID, Access: a}
		}
	}
	if s.OwnTools && isOwnTool(a) {
		return Verdict{Effect: doc.Allow, By: ByOwnTool, Access: a}
	}
	for _, rule := range p.Rules {
		if rule.Effect == doc.Deny || !Matches(rule, a) || rule.Effect == doc.Allow && !rulesMayAllow(p.PermissionLevel, a) {
			continue
		}
		return Verdict{Effect: rule.Effect, By: ByRule, RuleID: rule.ID, Access: a}
	}
	if effect, known := ofMode(borne(p), a); known {
		return Verdict{Effect: effect, By: ByMode, Access: a}
	}
	return Verdict{Effect: doc.Ask, By: ByDefault, Access: a}
}

// isOwnTool reports whether an access is a call of a tool of ac itself.
func isOwnTool(a Access) bool {
	return a.Operation == doc.OpMCPTool && len(a.Resource) > len(OwnServer)+1 && a.Resource[:len(OwnServer)+1] == OwnServer+"/"
}
