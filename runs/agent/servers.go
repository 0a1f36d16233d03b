package agent

// The MCP servers of an agent, encoded for each protocol.

import (
	"encoding/json"
	"maps"
	"slices"
)

// Server is an MCP server that the agent starts or connects to.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	// Transport is http or sse for a server at URL, "" for one that the agent starts.
	Transport string
	URL       string
	Headers   map[string]string
	// TimeoutSeconds is the agent's limit for a server's start and for each call; 0 for the
	// agent's default.
	TimeoutSeconds int
}

// claudeServer is an entry of claude's MCP configuration file.
type claudeServer struct {
	Type      string            `json:"type,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	TimeoutMS int               `json:"timeout,omitempty"`
}

// ClaudeServers returns claude's MCP configuration file.
func ClaudeServers(servers []Server) ([]byte, error) {
	file := struct {
		Servers map[string]claudeServer `json:"mcpServers"`
	}{map[string]claudeServer{}}
	for _, s := range servers {
		file.Servers[s.Name] = claudeServer{s.Transport, s.Command, s.Args, s.Env, s.URL, s.Headers, s.TimeoutSeconds * 1000}
	}
	return json.Marshal(file)
}

// codexServer is an entry of a thread's configuration.
type codexServer struct {
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"http_headers,omitempty"`
	Startup int               `json:"startup_timeout_sec,omitempty"`
	Call    int               `json:"tool_timeout_sec,omitempty"`
}

func codexServers(servers []Server) map[string]codexServer {
	named := map[string]codexServer{}
	for _, s := range servers {
		named[s.Name] = codexServer{s.Command, s.Args, s.Env, s.URL, s.Headers, s.TimeoutSeconds, s.TimeoutSeconds}
	}
	return named
}

// acpServer is a server that the agent starts. acpRemote is one that it connects to.
type acpServer struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []acpValue `json:"env"`
}

type acpRemote struct {
	Type    string     `json:"type"`
	Name    string     `json:"name"`
	URL     string     `json:"url"`
	Headers []acpValue `json:"headers"`
}

type acpValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// acpTransports are the transports that an agent supports in addition to stdio.
type acpTransports struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// acpServers encodes the servers. It omits those with a transport that the agent does not
// support.
func acpServers(servers []Server, takes acpTransports) []any {
	list := []any{}
	for _, s := range servers {
		switch {
		case s.Transport == "":
			list = append(list, acpServer{s.Name, s.Command, append([]string{}, s.Args...), acpValues(s.Env)})
		case s.Transport == "http" && takes.HTTP || s.Transport == "sse" && takes.SSE:
			list = append(list, acpRemote{s.Transport, s.Name, s.URL, acpValues(s.Headers)})
		}
	}
	return list
}

func acpValues(values map[string]string) []acpValue {
	list := make([]acpValue, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, acpValue{name, values[name]})
	}
	return list
}
