package workforce

// Agents in lists for people: what each does, whether it can be started here, and which can be
// given work or a conversation.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/company"
	"ac/company/companytest"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// TestOccupy checks that an agent's row shows its own live run and, in any order, prefers one that
// asks.
func TestOccupy(t *testing.T) {
	t.Parallel()
	run := func(id, agent, state string) company.RunRow {
		return company.RunRow{RunID: id, AgentID: agent, State: state, What: &id}
	}
	works, asks, other := run("works", "ann", company.StateRunning), run("asks", "ann", company.StateAsks), run("other", "bob", company.StateAsks)
	for _, c := range []struct {
		live       []company.RunRow
		state, run string
	}{
		{nil, AgentIdle, ""},
		{[]company.RunRow{other}, AgentIdle, ""},
		{[]company.RunRow{works, other}, AgentWorking, "works"},
		{[]company.RunRow{asks, works}, AgentAsks, "asks"},
		{[]company.RunRow{works, asks}, AgentAsks, "asks"},
	} {
		a := RosterAgent{AgentID: "ann", State: AgentIdle}
		a.occupy(c.live)
		shown := ""
		if a.RunID != nil {
			shown = *a.RunID
		}
		if a.State != c.state || shown != c.run || a.Now != nil && *a.Now != c.run {
			t.Errorf("%+v of %+v", a, c.live)
		}
	}
}

// TestCannotStart checks why a provider cannot be started. A configured command counts as present,
// a program must exist, and an ACP agent without a command names the remedy.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	there := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(there, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	const gone = "/nonexistent/codex"
	machine := doc.Machine{
		ProviderBins:  map[string]string{"codex": gone, "claude": there, "opencode": gone},
		AgentCommands: map[string][]string{"acp_goose": {"goose", "acp"}},
	}
	for provider, want := range map[string]string{
		"codex": gone + " is not installed", "claude_code": "", "opencode": gone + " is not installed",
		"acp_goose": "", "acp_other": "no command (ac machine:set-agent-command)", "acp": "no command (ac machine:set-agent-command)",
		"cmd": "", "manual": "", "our_own": "",
	} {
		if got := cannotStart(machine, provider); got != want {
			t.Errorf("%s: %q, want %q", provider, got, want)
		}
	}
}

// TestAgentsForWork checks which agents can be given a run or a conversation. Runs go to workers
// with a command or an interactive provider. Without a named agent, a conversation goes to the
// first suitable agent by name. Secretaries get neither.
func TestAgentsForWork(t *testing.T) {
	t.Parallel()
	all, w := companytest.New(t), workspacetest.New(t, workspace.SystemEnv())
	in := company.Dir{WorkspaceDir: w.Dir()}
	if _, err := company.Do(t.Context(), all, Operations.TalkAgent, TalkAgentParams{Dir: in}); !fault.Is(err, fault.NotFound) {
		t.Errorf("nobody to talk with: %v", err)
	}
	ids := map[string]string{}
	for _, spec := range []workspace.AgentSpec{
		{Name: "Zoe", Role: "worker", Provider: "codex"}, {Name: "Abe", Role: "worker", Provider: "cmd"}, {Name: "Moe", Role: "manager", Provider: "claude"},
		{Name: "Ida", Role: "worker", Provider: "manual"}, {Name: "Own", Role: "worker", Provider: "our_own"},
		{Name: "Aaa", ID: workspace.SecretaryPrefix + "p", Role: "worker", Provider: "codex"},
	} {
		id, err := w.NewAgent(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		ids[spec.Name] = id
	}
	list, err := company.Do(t.Context(), all, Operations.AgentsToRun, in)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b AgentToRun) int { return strings.Compare(a.Name, b.Name) })
	if want := []AgentToRun{{ids["Abe"], "Abe", true}, {ids["Zoe"], "Zoe", false}}; !slices.Equal(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
	for _, c := range []struct{ named, want string }{{"", "Moe"}, {"Zoe", "Zoe"}, {"Abe", ""}, {"Aaa", ""}} {
		found, err := company.Do(t.Context(), all, Operations.TalkAgent, TalkAgentParams{Dir: in, AgentID: ids[c.named]})
		if found.Name != c.want || (c.want == "") != fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %+v %v", c.named, found, err)
		}
	}
}
