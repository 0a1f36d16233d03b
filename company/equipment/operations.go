// Package equipment implements the operations on the tools of agents and people on this machine:
// agent CLIs, models, MCP servers, skills, and consoles.
package equipment

import "ac/company"

// Operations are the operations on an open workspace.
type Operations struct{ company.In }
