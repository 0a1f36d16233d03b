// Package workforce implements the operations on a company's people and their projects: the
// agents and teams, their tasks and plans, their conversations, and the cost of their work.
package workforce

import "ac/company"

// Operations are the operations on an open workspace.
type Operations struct{ company.In }
