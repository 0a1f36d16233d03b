package autonoma

// Agents: listing them, determining which can work, and finding them by name.

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ac/company"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/fault"
	"ac/runs/provider"
	"ac/workspace/doc"
)

// Statuses of agents.
const (
	available = "available"
	busy      = "busy"
	offline   = "offline"
)

// agent is an agent as clients see it.
type agent struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Status      string `json:"status"`
}

// seenAgent is an agent with its current state.
type seenAgent struct {
	company.AgentRow
	team    string // name of its team
	status  string
	why     string // why it is offline
	active  int    // running attempts
	version string // version of its program
}

func (a seenAgent) row() agent {
	made := provider.DriverOf(a.Provider)
	text := cmp.Or(a.DisplayTitle, a.Role) + " (" + cmp.Or(string(made), a.Provider)
	if a.team != "" {
		text += ", " + a.team
	}
	return agent{a.AgentID, a.Name, text + ")", a.status}
}

func listAgents(ctx context.Context, c *call, _ noParams) (any, error) {
	seen, err := c.server.agents(ctx)
	rows := make([]agent, len(seen))
	for i, a := range seen {
		rows[i] = a.row()
	}
	return rows, err
}

// agents returns the agents by name, with their states.
func (s *server) agents(ctx context.Context) ([]seenAgent, error) {
	rows, err := dialect.Do(ctx, s.Company, (*company.Folder).Agents, company.AgentsParams{Dir: s.In()})
	if err != nil {
		return nil, err
	}
	teams, err := dialect.Do(ctx, s.Company, (*company.Folder).Teams, s.In())
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, t := range teams {
		names[t.TeamID] = t.Name
	}
	active, err := s.attemptsByAgent(ctx)
	if err != nil {
		return nil, err
	}
	adapters := s.programs.Adapters(ctx)
	list := make([]seenAgent, len(rows))
	for i, row := range rows {
		a := seenAgent{AgentRow: row, team: names[row.TeamID], active: active[row.AgentID], status: available}
		a.why, a.version = dialect.UnavailableReason(row, adapters)
		switch {
		case a.why != "":
			a.status = offline
		case a.active > 0:
			a.status = busy
		}
		list[i] = a
	}
	return list, nil
}

// attemptsByAgent counts the live sessions of each agent, in all projects.
func (s *server) attemptsByAgent(ctx context.Context) (map[string]int, error) {
	sessions, err := dialect.Do(ctx, s.Company, (*company.Host).ListSessions, company.ListSessionsParams{
		MaybeDir: company.MaybeDir{WorkspaceDir: s.Dir}, Status: doc.StatusRunning,
	})
	if err != nil || len(sessions) == 0 {
		return nil, err
	}
	runs, err := dialect.Do(ctx, s.Company, (*company.Folder).ListRuns, company.ListRunsParams{Dir: s.In()})
	byRun := map[string]string{}
	for _, r := range runs {
		byRun[r.RunID] = r.AgentID
	}
	count := map[string]int{}
	for _, live := range sessions {
		count[byRun[live.RunID]]++
	}
	return count, err
}

// findAgent finds the agent that a client names. It tries the id, the name, and then the name in another
// spelling. It refuses a name that fits several agents.
func (s *server) findAgent(ctx context.Context, name string) (seenAgent, error) {
	all, err := s.agents(ctx)
	if err != nil {
		return seenAgent{}, err
	}
	for _, means := range []func(seenAgent) bool{
		func(a seenAgent) bool { return a.AgentID == name },
		func(a seenAgent) bool { return a.Name == name },
		func(a seenAgent) bool { return plainName(a.Name) == plainName(name) && plainName(name) != "" },
	} {
		var found []seenAgent
		var ids []string
		for _, a := range all {
			if means(a) {
				found, ids = append(found, a), append(ids, a.AgentID)
			}
		}
		if len(found) > 1 {
			return seenAgent{}, protocolError(fmt.Sprintf("more than one agent is called %s: %s", name, strings.Join(ids, ", ")))
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	var known []string
	for _, a := range all[:min(len(all), 10)] {
		known = append(known, a.Name)
	}
	return seenAgent{}, protocolError(fmt.Sprintf("unknown agent: %s; known: %s", name, strings.Join(known, ", ")))
}

// findUsableAgent is whom for an agent that must be able to work: it refuses an offline one.
func (s *server) findUsableAgent(ctx context.Context, name string) (seenAgent, error) {
	a, err := s.findAgent(ctx, name)
	if err == nil && a.status == offline {
		err = protocolError(fmt.Sprintf("agent %s is offline: %s", a.Name, a.why))
	}
	return a, err
}

// plainName returns a name in lower case, without blanks, - and _.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// repository returns where agents work.
func (s *server) repository(ctx context.Context) (workforce.Repository, error) {
	repo, _, err := s.Repository(ctx)
	return repo, err
}

// noRepository reports whether an error means that there is no single repository.
func noRepository(err error) bool {
	return fault.Is(err, fault.NoTarget) || fault.Is(err, fault.TargetAmbiguous)
}
