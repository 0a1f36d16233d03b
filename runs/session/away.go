package session

// Sessions that a worker executes for a hub on another machine. The workspace here holds the
// worker's own records, not the agent's workspace.

import (
	"context"
	"encoding/json"

	"ac/runs/grant"
	"ac/workspace"
	"ac/workspace/doc"
)

// WorkerOrder is the part of an order for a session executed on behalf of another machine.
type WorkerOrder struct {
	WorkerID string `json:"worker_id"`
	// Permit is a file of the workspace. The session is refused unless the file exists after its
	// locks are taken. Whoever removes it while holding the run's lock knows that the session
	// never starts.
	Permit string `json:"permit"`
	// Dir is the working directory of a session without a repository. Context is the directory of
	// the files that came with the order. Both are absolute.
	Dir     string `json:"dir"`
	Context string `json:"context,omitempty"`
	// Secrets names environment variables whose values are masked, whatever they are called.
	Secrets []string `json:"secrets,omitempty"`
	// Self identifies the agent to ac's tools; nil for a session without them.
	Self *grant.Self `json:"self,omitempty"`
	// Servers are the MCP servers of the agent's workspace, sent with the order. Profile is its
	// model profile; nil for none. The agent does not get those of the worker's workspace.
	Servers map[string]doc.MCPServer `json:"servers,omitempty"`
	Profile *doc.ModelProfile        `json:"profile,omitempty"`
}

// Relay forwards a request of another machine to a session's supervisor: a version 2 verb of the
// socket, with its params unchanged. A refusal is a *fault.Error with the supervisor's reason and
// message.
func Relay(ctx context.Context, w *workspace.Workspace, record doc.Session, verb string, params json.RawMessage) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, w, record, verb, params)
}
