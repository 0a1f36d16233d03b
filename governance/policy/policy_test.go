package policy

import "testing"

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action, visibility, role, actor, team string
		allowed                               bool
		rule                                  string
	}{
		{Approve, "org", "worker", "a", "t", false, "approve.role"},
		{Read, "org", "worker", "a", "", true, "vis.org"},
		{Launch, "managers", "manager", "a", "", true, "vis.managers"},
		{Launch, "managers", "worker", "a", "t", false, "vis.managers"},
		{Launch, "team", "human", "a", "", true, "vis.team.manager_override"},
		{Launch, "team", "worker", "a", "t", true, "vis.team.same_team"},
		{Launch, "team", "worker", "owner", "", false, "vis.team.mismatch"},
		{Read, "private_agent", "human", "a", "", true, "vis.private.human"},
		{Read, "private_agent", "worker", "owner", "", true, "vis.private.owner"},
		{Read, "private_agent", "ceo", "a", "", false, "vis.private.owner"},
	} {
		got := Decide(c.action, Resource{Visibility: c.visibility, Team: "t", Producer: "owner"}, Actor{ID: c.actor, Role: c.role, Team: c.team})
		if got.Allowed != c.allowed || got.RuleID != c.rule {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
