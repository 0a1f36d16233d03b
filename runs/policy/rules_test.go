package policy

import (
	"slices"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/workspace/doc"
)

func TestAnswersForTheSession(t *testing.T) {
	t.Parallel()
	s := Situation{Interactive: true}
	p := doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{rule(doc.OpExec, doc.Ask, "**")}}
	made := Access{doc.OpExec, "touch a* && echo made"}
	with, ok := WithAnswer(p, doc.Allow, made, made)
	if !ok || len(with.Rules) != 2 || len(p.Rules) != 1 {
		t.Fatalf("the rules are %+v", with.Rules)
	}
	want := doc.PolicyRule{Operation: doc.OpExec, Effect: doc.Allow, Glob: made.Resource, ID: "session_1", Literal: true}
	if with.Rules[0] != want {
		t.Errorf("the rule is %+v", with.Rules[0])
	}
	if v := Judge(with, s, made); v.Effect != doc.Allow || v.RuleID != "session_1" {
		t.Errorf("the same command is %+v", v)
	}
	if v := Judge(with, s, Access{doc.OpExec, "touch ab && echo made"}); v.Effect != doc.Ask {
		t.Errorf("one that a pattern would match is %+v", v)
	}
	denied, ok := WithAnswer(with, doc.Deny, Access{doc.OpNetwork, "h"})
	if v := Judge(denied, s, Access{doc.OpNetwork, "h"}); !ok || v.Effect != doc.Deny || v.RuleID != "session_2" {
		t.Errorf("a denied host is %+v", v)
	}
	if left := WithoutSession(denied); !slices.Equal(left.Rules, p.Rules) || len(denied.Rules) != 3 {
		t.Errorf("a continued run keeps %+v", left.Rules)
	}
}

func TestWhatNoAnswerHoldsForTheSession(t *testing.T) {
	t.Parallel()
	p := doc.RunPolicy{PermissionLevel: doc.LevelRunCommands}
	full := doc.RunPolicy{PermissionLevel: doc.LevelRunCommands, Rules: make([]doc.PolicyRule, MaxRules)}
	for name, c := range map[string]struct {
		p        doc.RunPolicy
		accesses []Access
	}{
		"nothing": {p, nil}, "unknown": {p, []Access{write("")}}, "one of two unknown": {p, []Access{write("a"), write("")}},
		"too long": {p, []Access{write(strings.Repeat("a", 501))}}, "too many rules": {full, []Access{write("a")}},
	} {
		if _, ok := WithAnswer(c.p, doc.Allow, c.accesses...); ok {
			t.Errorf("%s: a rule was made", name)
		}
		if _, ok := WithAnswer(c.p, doc.Deny, c.accesses...); ok {
			t.Errorf("%s: a deny rule was made", name)
		}
	}
	if !OffersSession(p, write(strings.Repeat("a", 500))) {
		t.Error("a path of 500 bytes is refused")
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	p := doc.RunPolicy{Mode: doc.ModeFullAuto, PermissionLevel: doc.LevelFull, Rules: []doc.PolicyRule{
		{Operation: doc.OpWrite, Effect: doc.Ask, Glob: "/**", ID: "rule_1", Once: true},
		{Operation: doc.OpNetwork, Effect: doc.Ask, Glob: "**", ID: "rule_2"},
	}}
	s := Situation{Interactive: true}
	if v := Judge(p, s, write("inside")); v.Effect != doc.Allow {
		t.Errorf("a write inside is %+v", v)
	}
	first := Judge(p, s, write("/etc/x"))
	if first.Effect != doc.Ask || first.RuleID != "rule_1" {
		t.Errorf("the first write elsewhere is %+v", first)
	}
	after, changed := WithoutOnce(p, first.RuleID)
	if v := Judge(after, s, write("/etc/y")); !changed || v.Effect != doc.Allow || len(p.Rules) != 2 {
		t.Errorf("the second is %+v", v)
	}
	if _, changed := WithoutOnce(p, "rule_2"); changed {
		t.Error("a rule that is not for once was taken out")
	}
}

func TestPlanEnds(t *testing.T) {
	t.Parallel()
	if p, changed := AfterPlan(doc.RunPolicy{Mode: doc.ModePlan}); !changed || p.Mode != doc.ModeDefault {
		t.Errorf("behind a plan: %+v", p)
	}
	if p, changed := AfterPlan(doc.RunPolicy{Mode: doc.ModeFullAuto}); changed || p.Mode != doc.ModeFullAuto {
		t.Errorf("a mode that was chosen before: %+v", p)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	given := rule(doc.OpWrite, doc.Allow, "a")
	set, err := NumberRules(nil, []doc.PolicyRule{given, given})
	if err != nil || set[0].ID != "rule_1" || set[1].ID != "rule_2" || given.ID == "rule_1" {
		t.Fatalf("%+v %v", set, err)
	}
	answered, _ := WithAnswer(doc.RunPolicy{Rules: set, PermissionLevel: doc.LevelFull}, doc.Allow, write("b"))
	again, err := NumberRules(answered.Rules, append(answered.Rules, rule(doc.OpWrite, doc.Deny, "c")))
	if err != nil || !slices.Equal(again[:3], answered.Rules) || again[3].ID != "rule_3" {
		t.Errorf("what was read and set again: %+v %v", again, err)
	}
	changed := answered.Rules[0]
	changed.Glob = "**"
	if _, err := NumberRules(answered.Rules, []doc.PolicyRule{changed}); !fault.Is(err, fault.InvalidParams) {
		t.Errorf("a literal rule of somebody else's: %v", err)
	}
	twice, err := NumberRules(set, []doc.PolicyRule{set[0], set[0]})
	if err != nil || twice[0].ID == twice[1].ID {
		t.Errorf("a rule given twice: %+v %v", twice, err)
	}
	if _, err := NumberRules(nil, make([]doc.PolicyRule, MaxRules+1)); !fault.Is(err, fault.InvalidParams) {
		t.Errorf("too many: %v", err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	p := doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelPatch}
	for _, c := range []struct {
		name    string
		change  Change
		raiser  bool
		refused bool
		mode    doc.Mode
		level   doc.Level
	}{
		{"nothing", Change{}, false, false, doc.ModeDefault, doc.LevelPatch},
		{"a mode that the level bears", Change{Mode: doc.ModeAcceptEdits}, false, false, doc.ModeAcceptEdits, doc.LevelPatch},
		{"a mode above the level", Change{Mode: doc.ModeFullAuto}, true, true, "", ""},
		{"a mode and the level for it", Change{Mode: doc.ModeFullAuto, Level: doc.LevelRunCommands}, true, false, doc.ModeFullAuto, doc.LevelRunCommands},
		{"a level above by nobody who may", Change{Level: doc.LevelFull}, false, true, "", ""},
		{"a lower level by anybody", Change{Level: doc.LevelReadOnly}, false, false, doc.ModeDefault, doc.LevelReadOnly},
		{"a lower level below the mode", Change{Mode: doc.ModeAcceptEdits, Level: doc.LevelReadOnly}, true, true, "", ""},
	} {
		got, err := ApplyChange(p, c.change, c.raiser)
		if fault.Is(err, fault.ExceedsPermissionLevel) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && (got.Mode != c.mode || got.PermissionLevel != c.level) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	rules := []doc.PolicyRule{{Operation: doc.OpRead, Effect: doc.Deny, Glob: "x"}}
	if got, err := ApplyChange(p, Change{Rules: &rules}, false); err != nil || len(got.Rules) != 1 || got.Rules[0].ID != "rule_1" {
		t.Errorf("rules: %+v %v", got, err)
	}
	none := []doc.PolicyRule{}
	if got, err := ApplyChange(doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelPatch, Rules: rules}, Change{Rules: &none}, false); err != nil || got.Rules == nil || len(got.Rules) != 0 {
		t.Errorf("no rules: %+v %v", got, err)
	}
}
