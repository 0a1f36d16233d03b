package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ac/workspace/doc"
)

// slowTables returns the tables as a map from level or mode, then operation, to the cell.
func slowTables() map[string]string {
	cells := map[string]string{}
	for line := range strings.SplitSeq(`
read-only:    fs_read free, fs_write in denied, fs_write out denied, fs_exec free, network denied, mcp_tool free
patch:        fs_read free, fs_write in free, fs_write out denied, fs_exec free, network free, mcp_tool free
run-commands: fs_read free, fs_write in free, fs_write out free, fs_exec free, network free, mcp_tool free
full:         fs_read free, fs_write in free, fs_write out free, fs_exec free, network free, mcp_tool free
default:      fs_read allow, fs_write in ask, fs_write out ask, fs_exec ask, network ask, mcp_tool ask
accept_edits: fs_read allow, fs_write in allow, fs_write out ask, fs_exec ask, network ask, mcp_tool ask
plan:         fs_read allow, fs_write in deny, fs_write out deny, fs_exec deny, network deny, mcp_tool ask
full_auto:    fs_read allow, fs_write in allow, fs_write out allow, fs_exec allow, network allow, mcp_tool allow
`, "\n") {
		row, rest, _ := strings.Cut(line, ":")
		for cell := range strings.SplitSeq(rest, ",") {
			if column, word, ok := lastWord(strings.TrimSpace(cell)); ok {
				cells[row+" "+column] = word
			}
		}
	}
	return cells
}

func lastWord(s string) (before, word string, ok bool) {
	i := strings.LastIndexByte(s, ' ')
	if i < 0 {
		return "", "", false
	}
	return s[:i], s[i+1:], true
}

// slowJudge is the reference implementation: it applies the numbered steps to one access.
func slowJudge(cells map[string]string, p doc.RunPolicy, a Access) string {
	column := string(a.Operation)
	if a.Operation == doc.OpWrite {
		if column += " in"; a.Resource == "" || a.Resource[0] == '/' {
			column = string(a.Operation) + " out"
		}
	}
	matches := func(r doc.PolicyRule) bool {
		if r.Operation != a.Operation {
			return false
		}
		if r.Effect == doc.Allow && a.Operation == doc.OpExec {
			if p.PermissionLevel == doc.LevelReadOnly || r.Glob != "**" && strings.Contains(a.Resource, ";") {
				return false
			}
		}
		return slowGlob(r.Glob, a.Resource, strings.HasPrefix(string(a.Operation), "fs_") && a.Operation != doc.OpExec)
	}
	if cells[string(p.PermissionLevel)+" "+column] == "denied" {
		return "deny"
	}
	for _, r := range p.Rules {
		if matches(r) && r.Effect == doc.Deny {
			return "deny"
		}
	}
	for _, r := range p.Rules {
		if matches(r) {
			return string(r.Effect)
		}
	}
	return cells[string(p.Mode)+" "+column]
}

// TestJudgementIsItsSlowReading compares Judge with slowJudge, also for several accesses at
// once.
func TestJudgementIsItsSlowReading(t *testing.T) {
	t.Parallel()
	tables := slowTables()
	operations := rapid.SampledFrom([]doc.Operation{doc.OpRead, doc.OpWrite, doc.OpExec, doc.OpNetwork, doc.OpMCPTool})
	resources := rapid.SampledFrom([]string{"", "a", "a/b", "/a", "a;b", "b"})
	rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) doc.PolicyRule {
		return doc.PolicyRule{
			Operation: operations.Draw(t, "operation"), Effect: rapid.SampledFrom([]doc.Effect{doc.Allow, doc.Deny, doc.Ask}).Draw(t, "effect"),
			Glob: rapid.SampledFrom([]string{"**", "*", "a", "a*", "/**", "?"}).Draw(t, "glob"),
		}
	}), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		p := doc.RunPolicy{PermissionLevel: rapid.SampledFrom(levels()).Draw(t, "level"), Rules: rules.Draw(t, "rules")}
		modes := slices.DeleteFunc([]doc.Mode{doc.ModeDefault, doc.ModePlan, doc.ModeAcceptEdits, doc.ModeFullAuto}, func(m doc.Mode) bool { return !Permits(p.PermissionLevel, m) })
		p.Mode = rapid.SampledFrom(modes).Draw(t, "mode")
		var accesses []Access
		want := "allow"
		for range rapid.IntRange(1, 3).Draw(t, "accesses") {
			a := Access{operations.Draw(t, "operation"), resources.Draw(t, "resource")}
			accesses = append(accesses, a)
			if one := slowJudge(tables, p, a); one == "deny" || one == "ask" && want == "allow" {
				want = one
			}
		}
		interactive := rapid.Bool().Draw(t, "interactive")
		if want == "ask" && !interactive {
			want = "deny"
		}
		if got := Judge(p, Situation{Interactive: interactive}, accesses...); string(got.Effect) != want {
			t.Fatalf("%+v on %+v: %+v, want %s", p, accesses, got, want)
		}
	})
}
