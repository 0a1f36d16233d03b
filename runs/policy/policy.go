// Package policy decides what an agent may do. A run's permission level, rules and mode
// determine whether a request is allowed, denied, or put to a person. Every function depends
// only on its arguments. Symbolic links are read through a function that the caller passes in
// (Links).
//
// Invariants: no rule or mode exceeds the permission level. A deny rule overrides all others. A
// request that nothing covers is put to a person. If nobody can be asked, it is denied.
package policy

import "ac/workspace/doc"

// Access is one operation on one resource for which an agent requests permission. Root.Accesses
// builds the resource of a file, Command that of a command.
type Access struct {
	Operation doc.Operation
	Resource  string
}

// By names the step of the judgment that decided.
type By string

// The steps of the judgment, in order.
const (
	ByLevel          By = "level"
	ByRule           By = "rule"
	ByOwnTool        By = "own_tool"
	ByMode           By = "mode"
	ByDefault        By = "default"
	ByNotInteractive By = "not_interactive"
)

// Situation holds the inputs of a judgment besides the policy.
type Situation struct {
	// Interactive means that a person can be asked. Otherwise such requests are denied.
	Interactive bool
	// OwnTools means that the agent has ac's own MCP server under the name OwnServer.
	OwnTools bool
}

// Verdict is the outcome of a judgment.
type Verdict struct {
	Effect doc.Effect
	By     By
	RuleID string // the rule that decided, "" if none did
	Access Access // the access that decided; the first if several have the same effect
}

// OwnServer is the name of ac's MCP server in agents' configurations.
const OwnServer = "ac"

// Judge decides a request for one or more accesses and returns the strictest verdict among them.
// A request without accesses is put to a person.
func Judge(p doc.RunPolicy, s Situation, accesses ...Access) Verdict {
	worst := Verdict{Effect: doc.Ask, By: ByDefault}
	for i, a := range accesses {
		if v := judgeOne(p, s, a); i == 0 || strictness(v.Effect) > strictness(worst.Effect) {
			worst = v
		}
	}
	return s.answerable(worst)
}

// JudgePlan decides whether an agent may carry out the plan that it presents.
func JudgePlan(p doc.RunPolicy, s Situation) Verdict {
	v := Verdict{Effect: doc.Ask, By: ByMode}
	if effectiveMode(p) == doc.ModeFullAuto {
		v.Effect = doc.Allow
	}
	return s.answerable(v)
}

// answerable turns a verdict of Ask into a denial if nobody can be asked.
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

// judgeOne applies the steps of the judgment to one access.
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
	if effect, known := ofMode(effectiveMode(p), a); known {
		return Verdict{Effect: effect, By: ByMode, Access: a}
	}
	return Verdict{Effect: doc.Ask, By: ByDefault, Access: a}
}

// isOwnTool reports whether an access calls one of ac's own tools.
func isOwnTool(a Access) bool {
	return a.Operation == doc.OpMCPTool && len(a.Resource) > len(OwnServer)+1 && a.Resource[:len(OwnServer)+1] == OwnServer+"/"
}
