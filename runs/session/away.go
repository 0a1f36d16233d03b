package session

// Sessions that a worker executes for a hub on another machine. The workspace that they
// run in is the worker's own record of them, not that of the agent.

import (
	"context"
	"encoding/json"

	"ac/runs/grant"
	"ac/workspace"
	"ac/workspace/doc"
)

// Away is what an order says of a session that is executed for another machine.
type Away struct {
	WorkerID string `json:"worker_id"`
	// Permit is a file of the workspace. The session is refused unless it is there once
	// its locks are taken: whoever removes it with the lock of the run held knows that the
	// session never starts.
	Permit string `json:"permit"`
	// Dir is the working directory of a session without a repository, Context the
	// directory of the files that came with the order; both absolute.
	Dir     string `json:"dir"`
	Context string `json:"context,omitempty"`
	// Secrets are variables of the environment whose values are masked whatever their
	// names.
	Secrets []string `json:"secrets,omitempty"`
	// Self is who the agent is, for the tools of ac; nil for a session without them.
	Self *grant.Self `json:"self,omitempty"`
	// Servers are the MCP servers of the agent's workspace that came along, and Profile is
	// its model profile; nil for none. Those of this workspace are not the agent's.
	Servers map[string]doc.MCPServer `json:"servers,omitempty"`
	Profile *doc.ModelProfile        `json:"profile,omitempty"`
}

// Relay asks the supervisor of a session something on behalf of another machine: a verb of
// the second version of the socket, with its params as they came. A refusal is a
// *fault.Error as the supervisor worded it.
func Relay(ctx context.Context, w *workspace.Workspace, record doc.Session, verb string, params json.RawMessage) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, w, record, verb, params)
}
