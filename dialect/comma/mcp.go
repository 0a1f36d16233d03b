package comma

// MCP servers: those of the workspace, which its agents use, and those of a strategy, which are
// never started.

import (
	"context"
	"slices"
	"strings"

	"ac/company/equipment"
	"ac/dialect"
	"ac/runs/mcpserver"
)

type mcpServerList struct {
	Servers []mcpServer `json:"servers"`
}

type mcpServer struct {
	ID               string   `json:"id"`
	Source           string   `json:"source"`
	Transport        string   `json:"transport"`
	Enabled          bool     `json:"enabled"`
	EnabledByDefault bool     `json:"enabledByDefault"`
	ToolCount        int      `json:"toolCount"`
	AssignedAgents   []string `json:"assignedAgents"`
	Error            string   `json:"error,omitempty"`
}

// workspaceServers returns the MCP servers of the workspace, by id.
func (s *server) workspaceServers(ctx context.Context) ([]mcpserver.Server, error) {
	found, err := dialect.Do(ctx, s.Company, equipment.Operations.ListMCPServers, s.In())
	return found.Servers, err
}

// mcpServers returns the servers of the workspace and of a strategy, by id. If both define an id,
// the workspace's server is listed.
func (s *server) mcpServers(ctx context.Context, v strategyView) ([]mcpServer, error) {
	found, err := s.workspaceServers(ctx)
	list := []mcpServer{}
	for _, m := range found {
		list = append(list, mcpServer{
			ID: m.ID, Source: "global", Transport: m.Transport, Enabled: m.Enabled, EnabledByDefault: m.Enabled, AssignedAgents: v.assigned(m.ID),
		})
	}
	for _, own := range v.servers {
		if !slices.ContainsFunc(list, func(m mcpServer) bool { return m.ID == own.id }) {
			list = append(list, mcpServer{
				ID: own.id, Source: "strategy", Transport: own.transport, AssignedAgents: v.assigned(own.id), Error: "not started by this server",
			})
		}
	}
	slices.SortStableFunc(list, func(a, b mcpServer) int { return strings.Compare(a.ID, b.ID) })
	return list, err
}

// tellMCPServers answers with the servers, as seen by the strategy that the request names.
func (c *connection) tellMCPServers(ctx context.Context, r *request, code string) error {
	s := c.server
	v, err := s.strategyOf(ctx, r)
	if err != nil {
		return failedAs(err, code)
	}
	list, err := s.mcpServers(ctx, v)
	if err != nil {
		return failedAs(err, code)
	}
	c.answer(r.RequestID, frame{"mcp_server_list", mcpServerList{list}})
	return nil
}

// failedAs returns an error with another code.
func failedAs(err error, code string) error { return fail(code, "%s", err.Error()) }

// strategyOf returns the strategy that a request names by its file or its run. It is empty if the
// request names none.
func (s *server) strategyOf(ctx context.Context, r *request) (strategyView, error) {
	if r.StrategyPath != "" {
		p, err := s.fresh(ctx, r)
		if err != nil {
			return strategyView{}, err
		}
		return p.shown, nil
	}
	if p := s.memory.find(r.RunID); p != nil {
		return p.shown, nil
	}
	if r.RunID == "" {
		return strategyView{}, nil
	}
	record, err := s.record(ctx, r.RunID)
	if unknown(err) {
		return strategyView{}, nil
	}
	if err != nil {
		return strategyView{}, err
	}
	return show(record.Templates[record.Round().Template])
}

func (c *connection) listMCPServers(ctx context.Context, r *request) error {
	return c.tellMCPServers(ctx, r, "MCP_LIST_FAILED")
}

// updateMCPServer enables or disables a server of the workspace. The change takes effect with an
// agent's next call.
func (c *connection) updateMCPServer(ctx context.Context, r *request) error {
	const code = "MCP_UPDATE_FAILED"
	s := c.server
	found, err := s.workspaceServers(ctx)
	switch {
	case err != nil:
		return failedAs(err, code)
	case r.Scope != "default":
		return fail(code, "MCP servers are switched for all runs.")
	case !slices.ContainsFunc(found, func(m mcpserver.Server) bool { return m.ID == r.ServerID }):
		return fail(code, "Unknown MCP server: %s", r.ServerID)
	}
	p := equipment.PutMCPServerParams{Dir: s.In(), Change: mcpserver.Change{ID: r.ServerID, Enabled: &r.Enabled}}
	p.ActorID, p.ActorRole, p.ActorTeamID = s.Actor.ActorID, s.Actor.ActorRole, s.Actor.ActorTeamID
	if _, err := dialect.Do(ctx, s.Company, equipment.Operations.PutMCPServer, p); err != nil {
		return fail(code, "%s", oneLine(err))
	}
	return c.tellMCPServers(ctx, r, code)
}
