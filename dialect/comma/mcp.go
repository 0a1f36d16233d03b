package comma

// MCP servers: those of the workspace, which its agents are given, and those that a strategy
// brings, which nobody starts.

import (
	"context"
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

func (s *server) mcpServers(_ context.Context, v shown) ([]mcpServer, error) {
	list := []mcpServer{}
	for _, own := range v.servers {
		list = append(list, mcpServer{ID: own.id, Source: "strategy", Transport: own.transport, AssignedAgents: v.assigned(own.id), Error: "not started by this server"})
	}
	return list, nil
}

func (c *connection) listMCPServers(ctx context.Context, r *request) error { return nil }

func (c *connection) updateMCPServer(ctx context.Context, r *request) error { return nil }
