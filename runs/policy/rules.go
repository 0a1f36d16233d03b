package policy

// Rules: matching, numbering, and the rules that answers add and remove.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

// Bounds of a policy.
const (
	MaxRules = 100
	maxGlob  = 500 // bytes, the limit of doc.PolicyRule
)

// Matches reports whether a rule applies to an access.
func Matches(r doc.PolicyRule, a Access) bool {
	if r.Operation != a.Operation {
		return false
	}
	if r.Literal {
		return r.Glob == a.Resource
	}
	if r.Effect == doc.Allow && r.Operation == doc.OpExec && r.Glob != everything && isComposed(a.Resource) {
		return false
	}
	return Glob(r.Glob, a.Resource, r.Operation == doc.OpRead || r.Operation == doc.OpWrite)
}

// isComposed reports whether a command line may do more than execute its first program. An allow
// rule for git must not cover a command after a semicolon.
func isComposed(line string) bool {
	return strings.ContainsAny(line, ";&|<>$(){}`\n\r") || assignment().MatchString(line)
}

// assignment matches a variable assignment before a command.
var assignment = lazyregexp.New(`^\s*[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=`)

const (
	ruleID    = "rule_"
	sessionID = "session_"
	flowID    = "flow_"
)

// NumberRules assigns ids to the rules that a caller set. Rules that the policy already has, with
// the same id and content, keep their ids. All others get new ids and must not be literal.
func NumberRules(current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	return numberRules(ruleID, current, rules)
}

// NumberWorkflowRules is NumberRules for the rules of a workflow run.
func NumberWorkflowRules(current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	return numberRules(flowID, current, rules)
}

func ofWorkflow(r doc.PolicyRule) bool { return strings.HasPrefix(r.ID, flowID) }

// FromAnswers adds rules to those of a workflow run: the ones that session-scoped answers added
// to the policy of one of its attempts.
func FromAnswers(first []doc.PolicyRule, attempt doc.RunPolicy) []doc.PolicyRule {
	next := nextNumber(first, flowID)
	known := func(r doc.PolicyRule) bool {
		return slices.ContainsFunc(first, func(f doc.PolicyRule) bool { f.ID = r.ID; return f == r })
	}
	for _, r := range slices.Backward(attempt.Rules) { // so that the newest answer comes first
		if r.Literal && strings.HasPrefix(r.ID, sessionID) && !known(r) && len(first) < MaxRules {
			r.ID = flowID + strconv.Itoa(next)
			first, next = slices.Concat([]doc.PolicyRule{r}, first), next+1
		}
	}
	return first
}

func numberRules(prefix string, current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	if len(rules) > MaxRules {
		return nil, fault.InvalidField("rules", "must have at most %d items", MaxRules)
	}
	next := nextNumber(current, prefix)
	list := slices.Clone(rules)
	for i, r := range list {
		switch {
		case r.ID != "" && slices.Contains(current, r) && !slices.Contains(list[:i], r):
		case r.Literal:
			return nil, fault.Invalid(fault.Issue{Path: []any{"rules", i, "literal"}, Code: "custom", Message: "is ac's own: answer with scope session instead"})
		default:
			list[i].ID = prefix + strconv.Itoa(next)
			next++
		}
	}
	return list, nil
}

// nextNumber returns one more than the highest number among the ids with a prefix.
func nextNumber(rules []doc.PolicyRule, prefix string) int {
	highest := 0
	for _, r := range rules {
		if digits, ok := strings.CutPrefix(r.ID, prefix); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				highest = max(highest, n)
			}
		}
	}
	return highest + 1
}

// OffersSession reports whether an answer to a request can apply to the whole session.
func OffersSession(p doc.RunPolicy, accesses ...Access) bool {
	_, ok := WithAnswer(p, doc.Allow, accesses...)
	return ok
}

// WithAnswer returns a policy with a person's answer for the session. For each access, it puts a
// literal rule before all others. ok is false if no such rule is possible: the resource is
// unknown or too long, only a person may allow the access, or there would be too many rules.
func WithAnswer(p doc.RunPolicy, effect doc.Effect, accesses ...Access) (doc.RunPolicy, bool) {
	next := nextNumber(p.Rules, sessionID)
	var added []doc.PolicyRule
	for _, a := range accesses {
		rule := doc.PolicyRule{Operation: a.Operation, Effect: effect, Glob: a.Resource, Literal: true}
		if slices.ContainsFunc(added, func(r doc.PolicyRule) bool { return r.Operation == rule.Operation && r.Glob == rule.Glob }) {
			continue
		}
		if a.Resource == "" || len(a.Resource) > maxGlob || effect == doc.Allow && !rulesMayAllow(p.PermissionLevel, a) {
			return p, false
		}
		rule.ID = fmt.Sprint(sessionID, next+len(added))
		added = append(added, rule)
	}
	if len(added) == 0 || len(p.Rules)+len(added) > MaxRules {
		return p, false
	}
	p.Rules = slices.Concat(added, p.Rules)
	return p, true
}

// WithoutSession returns a policy without the rules from session-scoped answers.
func WithoutSession(p doc.RunPolicy) doc.RunPolicy {
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(r doc.PolicyRule) bool { return strings.HasPrefix(r.ID, sessionID) })
	return p
}

// WithoutOnce returns a policy without the rule with an id if that is a one-time rule, and
// reports whether it removed one. Call it after allowing the access that the rule covers.
func WithoutOnce(p doc.RunPolicy, id string) (doc.RunPolicy, bool) {
	i := slices.IndexFunc(p.Rules, func(r doc.PolicyRule) bool { return r.Once && r.ID == id })
	if i < 0 {
		return p, false
	}
	p.Rules = slices.Delete(slices.Clone(p.Rules), i, i+1)
	return p, true
}

// AfterPlan returns the policy after a person or the policy allowed a plan, and reports whether
// it changed. Mode plan becomes mode default. A mode that somebody chose in the meantime stays.
func AfterPlan(p doc.RunPolicy) (doc.RunPolicy, bool) {
	if p.Mode != doc.ModePlan {
		return p, false
	}
	p.Mode = doc.ModeDefault
	return p, true
}

// PrependRules puts the rules of a workflow before those of one of its tasks. The workflow's rules
// keep their ids, which cannot collide with other ids.
func PrependRules(first, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	if len(first)+len(rules) > MaxRules {
		return nil, fault.InvalidField("rules", "must have at most %d items, with those of the workflow", MaxRules)
	}
	return append(append([]doc.PolicyRule{}, first...), rules...), nil
}
