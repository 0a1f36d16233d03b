package equipment

// mcp.server.*: the MCP servers that agents receive when they start.

import (
	"context"
	"maps"
	"slices"

	"ac/company"
	"ac/internal/fault"
	"ac/runs/mcpserver"
	"ac/workspace/doc"
)

// MCPServers is the result of mcp.server.list and mcp.server.replace, sorted by id.
type MCPServers struct {
	Servers []mcpserver.Server `json:"servers"`
}

func mcpServers(machine doc.Machine) MCPServers {
	list := MCPServers{[]mcpserver.Server{}}
	for _, id := range slices.Sorted(maps.Keys(machine.MCPServers)) {
		list.Servers = append(list.Servers, mcpserver.ServerOf(id, machine.MCPServers[id]))
	}
	return list
}

// ListMCPServers lists the MCP servers of the workspace without their secrets.
func (c Operations) ListMCPServers(_ context.Context, _ company.Dir) (MCPServers, error) {
	machine, err := c.Workspace().Machine()
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return mcpServers(machine), err
}

// PutMCPServerParams are the params of mcp.server.put.
type PutMCPServerParams struct {
	company.Dir
	company.PersonParams
	mcpserver.Change
}

// PutMCPServer adds an MCP server, or changes the given fields of an existing one. The change
// affects sessions that start later.
func (c Operations) PutMCPServer(ctx context.Context, p PutMCPServerParams) (result mcpserver.Server, err error) {
	err = c.equip(ctx, p.Actor(), "mcp_server", []string{p.ID}, func(m *doc.Machine, s *doc.Secrets) error {
		if _, known := m.MCPServers[p.ID]; !known && len(m.MCPServers) >= mcpserver.MaxServers {
			return fault.New(fault.MCPInvalid, "%s.server_id is one too many: a workspace has at most %d", p.ID, mcpserver.MaxServers)
		}
		server, err := p.apply(m, s)
		if err == nil {
			mcpserver.Put(m, s, p.ID, server)
			result = mcpserver.ServerOf(p.ID, server)
		}
		return err
	})
	return result, err
}

func (p PutMCPServerParams) apply(m *doc.Machine, s *doc.Secrets) (doc.MCPServer, error) {
	if old, known := m.MCPServers[p.ID]; known {
		return p.Apply(&old, s.MCPServers[p.ID])
	}
	return p.Apply(nil, doc.MCPSecrets{})
}

// RemoveMCPServerParams are the params of mcp.server.remove.
type RemoveMCPServerParams struct {
	company.Dir
	company.PersonParams
	ID string `json:"server_id" is:"id"`
}

// Removed is the result of methods that remove something.
type Removed struct {
	Removed bool `json:"removed"`
}

// RemoveMCPServer removes an MCP server and its secrets.
func (c Operations) RemoveMCPServer(ctx context.Context, p RemoveMCPServerParams) (Removed, error) {
	err := c.equip(ctx, p.Actor(), "mcp_server", []string{p.ID}, func(m *doc.Machine, s *doc.Secrets) error {
		if _, known := m.MCPServers[p.ID]; !known {
			return fault.New(fault.MCPNotFound, "there is no MCP server %s", p.ID)
		}
		mcpserver.Remove(m, s, p.ID)
		return nil
	})
	return Removed{err == nil}, err
}

// ReplaceMCPServersParams are the params of mcp.server.replace.
type ReplaceMCPServersParams struct {
	company.Dir
	company.PersonParams
	Servers []mcpserver.Change `json:"servers"`
}

// ReplaceMCPServers replaces all MCP servers with the given ones, or changes nothing. Missing
// fields get their defaults. The value *** keeps the stored one.
func (c Operations) ReplaceMCPServers(ctx context.Context, p ReplaceMCPServersParams) (result MCPServers, err error) {
	names := make([]string, 0, len(p.Servers))
	for _, change := range p.Servers {
		names = append(names, change.ID)
	}
	err = c.equip(ctx, p.Actor(), "mcp_server", names, func(m *doc.Machine, s *doc.Secrets) error {
		if len(p.Servers) > mcpserver.MaxServers {
			return fault.New(fault.MCPInvalid, "a workspace has at most %d MCP servers", mcpserver.MaxServers)
		}
		var machine doc.Machine
		var secrets doc.Secrets
		for _, change := range p.Servers {
			if _, twice := machine.MCPServers[change.ID]; twice {
				return fault.New(fault.MCPInvalid, "%s.server_id is given twice", change.ID)
			}
			server, err := change.Anew(*m, *s)
			if err != nil {
				return err
			}
			mcpserver.Put(&machine, &secrets, change.ID, server)
		}
		m.MCPServers, s.MCPServers = machine.MCPServers, secrets.MCPServers
		result = mcpServers(machine)
		return nil
	})
	return result, err
}
