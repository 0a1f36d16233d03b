package policy

// Rules: what they match, the numbers they get, and how answers add and remove
// them.

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
	maxGlob  = 500 // bytes, as the rules of doc.PolicyRule have it
)

// Matches reports whether a rule speaks of an access.
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

// isComposed reports whether a command line may do more than execute the program
// that it begins with: an allow rule for git is none for what stands behind a
// semicolon.
func isComposed(line string) bool {
	return strings.ContainsAny(line, ";&|<>$(){}`\n\r") || assignment().MatchString(line)
}

// assignment is a variable that is set for the command behind it.
var assignment = lazyregexp.New(`^\s*[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=`)

const (
	ruleID    = "rule_"
	sessionID = "session_"
	flowID    = "flow_"
)

// Numbered are rules that somebody set, with their ids. Rules that the policy has
// already, told by id and content, keep what ac gave them; all others get new
// ids, and none of them may be literal.
func Numbered(current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	return numbered(ruleID, current, rules)
}

// OfWorkflow is Numbered for the rules of a workflow's run.
func OfWorkflow(current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	return numbered(flowID, current, rules)
}

func ofWorkflow(r doc.PolicyRule) bool { return strings.HasPrefix(r.ID, flowID) }

// FromAnswers adds to the rules of a workflow's run those that an answer for the session
// gave the policy of one of its attempts.
func FromAnswers(first []doc.PolicyRule, attempt doc.RunPolicy) []doc.PolicyRule {
	next := nextNumber(first, flowID)
	known := func(r doc.PolicyRule) bool {
		return slices.ContainsFunc(first, func(f doc.PolicyRule) bool { f.ID = r.ID; return f == r })
	}
	for _, r := range slices.Backward(attempt.Rules) { // the newest answer is the first
		if r.Literal && strings.HasPrefix(r.ID, sessionID) && !known(r) && len(first) < MaxRules {
			r.ID = flowID + strconv.Itoa(next)
			first, next = slices.Concat([]doc.PolicyRule{r}, first), next+1
		}
	}
	return first
}

func numbered(prefix string, current, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
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

// nextNumber is the number behind the highest of the ids with a prefix.
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

// OffersSession reports whether an answer to a request for an access can hold for
// the session.
func OffersSession(p doc.RunPolicy, accesses ...Access) bool {
	_, ok := WithAnswer(p, doc.Allow, accesses...)
	return ok
}

// WithAnswer is a policy with what a person answered for the session: for each
// access a rule that is compared as text, in front of all others of its effect.
// It fails where no such rule can be: for what is not known, too long, or only
// ever allowed by a person, and where there are too many rules.
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

// WithoutSession is a policy without what was answered for the session.
func WithoutSession(p doc.RunPolicy) doc.RunPolicy {
	p.Rules = slices.DeleteFunc(slices.Clone(p.Rules), func(r doc.PolicyRule) bool { return strings.HasPrefix(r.ID, sessionID) })
	return p
}

// WithoutOnce is a policy without the rule with an id when that was for once, and
// whether it had it. It is called when what the rule asked for was allowed.
func WithoutOnce(p doc.RunPolicy, id string) (doc.RunPolicy, bool) {
	i := slices.IndexFunc(p.Rules, func(r doc.PolicyRule) bool { return r.Once && r.ID == id })
	if i < 0 {
		return p, false
	}
	p.Rules = slices.Delete(slices.Clone(p.Rules), i, i+1)
	return p, true
}

// AfterPlan is a policy behind a plan that was allowed, and whether it changed: an
// agent that planned goes on as by default, unless somebody chose another mode.
func AfterPlan(p doc.RunPolicy) (doc.RunPolicy, bool) {
	if p.Mode != doc.ModePlan {
		return p, false
	}
	p.Mode = doc.ModeDefault
	return p, true
}

// Before puts the rules of a workflow before those of one of its tasks. They keep their
// ids, which no other rule has.
func Before(first, rules []doc.PolicyRule) ([]doc.PolicyRule, error) {
	if len(first)+len(rules) > MaxRules {
		return nil, fault.InvalidField("rules", "must have at most %d items, with those of the workflow", MaxRules)
	}
	return append(append([]doc.PolicyRule{}, first...), rules...), nil
}
