package policy

import (
	"testing"

	"ac/workspace/doc"
)

func rule(op doc.Operation, effect doc.Effect, glob string) doc.PolicyRule {
	return doc.PolicyRule{Operation: op, Effect: effect, Glob: glob, ID: string(effect) + " " + glob}
}

func write(path string) Access { return Access{doc.OpWrite, path} }

func TestOrderOfJudgement(t *testing.T) {
	t.Parallel()
	asked := Situation{Interactive: true, OwnTools: true}
	tool := Access{doc.OpMCPTool, "ac/who_am_i"}
	for _, c := range []struct {
		name     string
		mode     doc.Mode
		level    doc.Level
		rules    []doc.PolicyRule
		accesses []Access
		in       Situation
		want     Verdict
	}{
		{"1 the level goes before rules", doc.ModeDefault, doc.LevelReadOnly, []doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "**")},
			[]Access{write("a")}, asked, Verdict{doc.Deny, ByLevel, "", write("a")}},
		{"2 a deny rule goes before what stands in front of it", doc.ModeFullAuto, doc.LevelFull,
			[]doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "**"), rule(doc.OpWrite, doc.Deny, "a")},
			[]Access{write("a")}, asked, Verdict{doc.Deny, ByRule, "deny a", write("a")}},
		{"2 a deny rule goes before ac's own tools", doc.ModeFullAuto, doc.LevelFull, []doc.PolicyRule{rule(doc.OpMCPTool, doc.Deny, "ac/*")},
			[]Access{tool}, asked, Verdict{doc.Deny, ByRule, "deny ac/*", tool}},
		{"3 ac's own tools go before rules that ask", doc.ModePlan, doc.LevelReadOnly, []doc.PolicyRule{rule(doc.OpMCPTool, doc.Ask, "**")},
			[]Access{tool}, asked, Verdict{doc.Allow, ByOwnTool, "", tool}},
		{"3 another server of that name is none of ours", doc.ModeDefault, doc.LevelFull, nil,
			[]Access{tool}, Situation{Interactive: true}, Verdict{doc.Ask, ByMode, "", tool}},
		{"3 a server that begins so is none of ours", doc.ModeDefault, doc.LevelFull, nil,
			[]Access{{doc.OpMCPTool, "acme/x"}}, asked, Verdict{doc.Ask, ByMode, "", Access{doc.OpMCPTool, "acme/x"}}},
		{"4 the first of ask and allow: ask", doc.ModeFullAuto, doc.LevelFull,
			[]doc.PolicyRule{rule(doc.OpWrite, doc.Ask, "a*"), rule(doc.OpWrite, doc.Allow, "ab")},
			[]Access{write("ab")}, asked, Verdict{doc.Ask, ByRule, "ask a*", write("ab")}},
		{"4 the first of ask and allow: allow", doc.ModePlan, doc.LevelFull,
			[]doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "ab"), rule(doc.OpWrite, doc.Ask, "a*")},
			[]Access{write("ab")}, asked, Verdict{doc.Allow, ByRule, "allow ab", write("ab")}},
		{"4 rules of other operations say nothing", doc.ModeDefault, doc.LevelFull, []doc.PolicyRule{rule(doc.OpRead, doc.Deny, "**")},
			[]Access{write("a")}, asked, Verdict{doc.Ask, ByMode, "", write("a")}},
		{"4 several paths, all allowed", doc.ModeDefault, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "a"), rule(doc.OpWrite, doc.Allow, "b")},
			[]Access{write("a"), write("b")}, asked, Verdict{doc.Allow, ByRule, "allow a", write("a")}},
		{"4 several paths, one not allowed", doc.ModeDefault, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "a")},
			[]Access{write("a"), write("b")}, asked, Verdict{doc.Ask, ByMode, "", write("b")}},
		{"4 several paths, one to be asked for", doc.ModeFullAuto, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Ask, "b")},
			[]Access{write("a"), write("b")}, asked, Verdict{doc.Ask, ByRule, "ask b", write("b")}},
		{"4 several paths, one denied by a rule", doc.ModeFullAuto, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Deny, "b")},
			[]Access{write("a"), write("b")}, asked, Verdict{doc.Deny, ByRule, "deny b", write("b")}},
		{"4 several paths, one denied by the level", doc.ModeAcceptEdits, doc.LevelPatch, nil,
			[]Access{write("a"), write("/b")}, asked, Verdict{doc.Deny, ByLevel, "", write("/b")}},
		{"4 several operations, one denied by the mode", doc.ModePlan, doc.LevelFull, nil,
			[]Access{{doc.OpRead, "a"}, write("a"), {doc.OpMCPTool, "x/y"}}, asked, Verdict{doc.Deny, ByMode, "", write("a")}},
		{"5 the mode", doc.ModeAcceptEdits, doc.LevelPatch, nil, []Access{write("a")}, asked, Verdict{doc.Allow, ByMode, "", write("a")}},
		{"6 an operation that no mode knows is asked", doc.ModeFullAuto, doc.LevelFull, nil,
			[]Access{{"teleport", "a"}}, asked, Verdict{doc.Ask, ByDefault, "", Access{"teleport", "a"}}},
		{"6 nothing known is asked", doc.ModeFullAuto, doc.LevelFull, nil, nil, asked, Verdict{Effect: doc.Ask, By: ByDefault}},
		{"an ask of a rule is a denial where nobody is asked", doc.ModeFullAuto, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Ask, "**")},
			[]Access{write("a")}, Situation{}, Verdict{doc.Deny, ByNotInteractive, "", write("a")}},
		{"an unknown path matches everything", doc.ModeDefault, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "**")},
			[]Access{write("")}, asked, Verdict{doc.Allow, ByRule, "allow **", write("")}},
		{"an unknown path matches no other pattern", doc.ModeDefault, doc.LevelFull, []doc.PolicyRule{rule(doc.OpWrite, doc.Allow, "*")},
			[]Access{write("")}, asked, Verdict{doc.Ask, ByMode, "", write("")}},
		{"an unknown path lies elsewhere", doc.ModeAcceptEdits, doc.LevelPatch, nil, []Access{write("")}, asked, Verdict{doc.Deny, ByLevel, "", write("")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(doc.RunPolicy{Mode: c.mode, PermissionLevel: c.level, Rules: c.rules}, c.in, c.accesses...)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestCommandsThatRulesNeverAllow checks that an allow pattern never matches a command that may
// do more than the pattern shows. Ask and deny rules, ** and literal rules still match it.
func TestCommandsThatRulesNeverAllow(t *testing.T) {
	t.Parallel()
	pattern := rule(doc.OpExec, doc.Allow, "*git*")
	for name, line := range map[string]string{
		"semicolon": "git status; rm -rf .", "ampersand": "git status & rm x", "and": "git status && rm x", "pipe": "git log | sh",
		"less": "git apply <x", "greater": "git log >x", "dollar": "git log $X", "opening parenthesis": "git log (", "closing parenthesis": "git log )",
		"opening brace": "git log {", "closing brace": "git log }", "backtick": "git log `x`", "line feed": "git log\nrm x", "carriage return": "git log\rrm x",
		"assignment": "GIT_SSH=evil git fetch", "assignment behind blanks": "  a=1 git x", "addition": "PATH+=:/x git x", "element": "a[0]=1 git x",
	} {
		t.Run(name, func(t *testing.T) {
			a := Access{doc.OpExec, line}
			if Matches(pattern, a) {
				t.Error("an allow rule matches it")
			}
			for _, effect := range []doc.Effect{doc.Ask, doc.Deny} {
				r := pattern
				if r.Effect = effect; !Matches(r, a) {
					t.Errorf("an %s rule does not match it", effect)
				}
			}
			if !Matches(rule(doc.OpExec, doc.Allow, "**"), a) {
				t.Error("the rule for everything does not match it")
			}
			if !Matches(doc.PolicyRule{Operation: doc.OpExec, Effect: doc.Allow, Glob: line, Literal: true}, a) {
				t.Error("the very command that a person allowed does not match")
			}
		})
	}
	for _, line := range []string{"git status", "git log --format=%h", "git commit -m a=b"} {
		if !Matches(pattern, Access{doc.OpExec, line}) {
			t.Errorf("%s is not allowed", line)
		}
	}
}

func TestReadOnlyCommandsNeedAPerson(t *testing.T) {
	t.Parallel()
	make1 := Access{doc.OpExec, "make"}
	for _, c := range []struct {
		level doc.Level
		mode  doc.Mode
		rules []doc.PolicyRule
		want  doc.Effect
	}{
		{doc.LevelReadOnly, doc.ModeDefault, []doc.PolicyRule{rule(doc.OpExec, doc.Allow, "**")}, doc.Ask},
		{doc.LevelReadOnly, doc.ModePlan, []doc.PolicyRule{rule(doc.OpExec, doc.Allow, "**")}, doc.Deny},
		{doc.LevelReadOnly, doc.ModePlan, []doc.PolicyRule{rule(doc.OpExec, doc.Ask, "**")}, doc.Ask},
		{doc.LevelPatch, doc.ModeDefault, []doc.PolicyRule{rule(doc.OpExec, doc.Allow, "**")}, doc.Allow},
	} {
		p := doc.RunPolicy{Mode: c.mode, PermissionLevel: c.level, Rules: c.rules}
		if v := Judge(p, Situation{Interactive: true}, make1); v.Effect != c.want {
			t.Errorf("at %s in %s: %+v, want %s", c.level, c.mode, v, c.want)
		}
	}
	if OffersSession(doc.RunPolicy{PermissionLevel: doc.LevelReadOnly}, make1) {
		t.Error("an answer for the session is offered, though no rule may allow it")
	}
}
