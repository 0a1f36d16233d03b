package acecode

// The MCP servers that agents get when they start.

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"ac/company/equipment"
	"ac/dialect"
	"ac/internal/fault"
	"ac/runs/mcpserver"
	"ac/workspace/doc"
)

// mcpAnswer is a server as clients see it. Secrets are shown as ***.
type mcpAnswer struct {
	Transport      string            `json:"transport"`
	Command        string            `json:"command"`
	Args           []string          `json:"args"`
	Env            map[string]string `json:"env"`
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers"`
	AuthToken      string            `json:"auth_token,omitempty"`
	TimeoutSeconds int               `json:"timeout_seconds"`
	Enabled        bool              `json:"enabled"`
}

func mcpServers(s *server, r *request) (any, error) {
	found, err := dialect.Do(r.Context(), s.Company, equipment.Operations.ListMCPServers, s.In())
	answer := map[string]mcpAnswer{}
	for _, one := range found.Servers {
		answer[one.ID] = mcpAnswer{
			one.Transport, one.Command, append([]string{}, one.Args...), orEmpty(one.Env), one.URL, orEmpty(one.Headers), one.AuthToken, one.TimeoutSeconds, one.Enabled,
		}
	}
	return answer, err
}

func orEmpty(values map[string]string) map[string]string {
	if values == nil {
		return map[string]string{}
	}
	return values
}

// savedAnswer reports that agents use the servers from their next start on.
type savedAnswer struct {
	Saved          bool `json:"saved"`
	ReloadRequired bool `json:"reload_required"`
}

func setMCPServers(s *server, r *request) (any, error) {
	if !isNear(r.Request) {
		return nil, refuse(http.StatusForbidden, "loopback only")
	}
	text, err := r.body(maxBody)
	if err != nil {
		return nil, err
	}
	var given map[string]json.RawMessage
	if err := decodeObject(text, &given); err != nil {
		return nil, err
	}
	if inner, ok := given["mcp_servers"]; ok && len(given) == 1 {
		given = nil
		if err := decodeObject(inner, &given); err != nil {
			return nil, err
		}
	}
	p := equipment.ReplaceMCPServersParams{Dir: s.In(), PersonParams: s.person(), Servers: []mcpserver.Change{}}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		change, err := mcpChange(id, given[id])
		if err != nil {
			return nil, err
		}
		p.Servers = append(p.Servers, change)
	}
	_, err = dialect.Do(r.Context(), s.Company, equipment.Operations.ReplaceMCPServers, p)
	if fault.Is(err, fault.MCPInvalid) {
		err = bad(err.Error())
	}
	return savedAnswer{true, true}, err
}

// mcpChange reads a server from a body. If the body has no transport, its command or URL determines
// it.
func mcpChange(id string, text json.RawMessage) (mcpserver.Change, error) {
	var change mcpserver.Change
	if err := mcpserver.CheckID(id); err != nil {
		return change, bad(err.Error())
	}
	if err := decodeObject(text, &change); err != nil {
		if refused := refusalOf(err); refused.body.Message != "" {
			return change, bad(id + "." + refused.body.Message)
		}
		return change, bad(id + " must be an object")
	}
	change.ID = id
	if change.Transport == nil {
		transport := doc.TransportStdio
		if change.URL != nil && *change.URL != "" {
			transport = doc.TransportHTTP
		}
		change.Transport = &transport
	}
	// The list shows absent members as empty, so empty ones count as absent.
	if *change.Transport == doc.TransportStdio {
		change.URL, change.Headers = notEmpty(change.URL), notEmptyMap(change.Headers)
	} else {
		change.Command, change.Env = notEmpty(change.Command), notEmptyMap(change.Env)
		if change.Args != nil && len(*change.Args) == 0 {
			change.Args = nil
		}
	}
	return change, nil
}

func notEmpty(text *string) *string {
	if text != nil && *text == "" {
		return nil
	}
	return text
}

func notEmptyMap(values *map[string]string) *map[string]string {
	if values != nil && len(*values) == 0 {
		return nil
	}
	return values
}

func reloadMCPServers(*server, *request) (any, error) {
	return nil, refuse(http.StatusNotImplemented, "mcp reload is not implemented; a session takes the servers at its next start")
}
