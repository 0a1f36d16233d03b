// Package orchestration implements the operations on runs: to start, continue, steer, watch and
// stop them, here and on other machines, alone and as steps of workflows.
package orchestration

import "ac/company"

// Operations are the operations on an open workspace.
type Operations struct{ company.In }
