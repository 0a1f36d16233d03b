// Package workforce is the operations on a company's people and their projects: the agents
// and teams, their tasks and plans, what they say to each other, and what their work costs.
package workforce

import "ac/company"

// Operations are the operations on one opened workspace.
type Operations struct{ company.In }
