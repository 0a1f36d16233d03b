package doc

// MCP servers of a workspace, stored in machine.yaml.

// Transports of MCP servers.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
	TransportSSE   = "sse"
)

// MCPServer is an MCP server that agents get at their start. Values of Env and Headers, and
// AuthToken, are Hidden if secrets.yaml holds them.
type MCPServer struct {
	Transport      string            `json:"transport"`
	Command        string            `json:"command,omitempty" is:"optional"`
	Args           []string          `json:"args,omitempty" is:"optional"`
	Env            map[string]string `json:"env,omitempty" is:"optional"`
	URL            string            `json:"url,omitempty" is:"optional"`
	Headers        map[string]string `json:"headers,omitempty" is:"optional"`
	AuthToken      string            `json:"auth_token,omitempty" is:"optional"`
	TimeoutSeconds int               `json:"timeout_seconds" is:"default=30"`
	Enabled        bool              `json:"enabled" is:"default=true"`
}
