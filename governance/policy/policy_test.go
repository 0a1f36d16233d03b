package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
)

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

// TestUnreadableRecord checks that the policy denies approval to an actor whose record exists but
// is unreadable: the actor may be a worker.
func TestUnreadableRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{workspace.CompanyFile: "", workspace.AgentFile("ada"): "role: worker\nid: [torn"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for id, allowed := range map[string]bool{"ada": false, "nobody": true, "": true} {
		v := Ask(w, Question{Action: Approve, Resource: Resource{Visibility: "org"}, Actor: Actor{ID: id, Role: "human"}})
		if v.Decision.Allowed != allowed || (v.Refusal() == nil) != allowed {
			t.Errorf("%q: %+v, %v", id, v.Decision, v.Refusal())
		}
	}
	if err := Ask(w, Question{Action: Approve, Actor: Actor{ID: "ada", Role: "human"}}).Refusal(); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), workspace.AgentFile("ada")) {
		t.Errorf("the refusal does not name the file: %v", err)
	}
}

// TestNobodyDecidesOnTheirOwnRequest checks that no role lets an actor approve their own request.
// Their read access stays.
func TestNobodyDecidesOnTheirOwnRequest(t *testing.T) {
	t.Parallel()
	r := Resource{ID: "run_a", Kind: "run", Visibility: "org", Askers: []string{"agent_a", "agent_b"}}
	for _, c := range []struct {
		action, actor, role, rule string
		allowed                   bool
	}{
		{Approve, "agent_a", "ceo", OwnRule, false},
		{Approve, "agent_b", "human", OwnRule, false},
		{Approve, "agent_c", "worker", "approve.role", false},
		{Approve, "agent_c", "manager", "vis.org", true},
		{Read, "agent_a", "worker", "vis.org", true},
	} {
		if got := Decide(c.action, r, Actor{ID: c.actor, Role: c.role}); got.Allowed != c.allowed || got.RuleID != c.rule {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if got := Decide(Approve, Resource{Visibility: "org", Askers: []string{""}}, Actor{Role: "human"}); !got.Allowed {
		t.Errorf("an asker without a name: %+v", got)
	}
}
