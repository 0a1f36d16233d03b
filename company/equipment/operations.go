// Package equipment is the operations on what agents and people work with on this machine:
// agent CLIs, models, MCP servers, skills, and consoles.
package equipment

import "ac/company"

// Operations are the operations on one opened workspace.
type Operations struct{ company.In }
