// Package decisions implements the operations on what waits for a person: proposals, memory,
// files, milestones, help requests, and the evidence for a decision.
package decisions

import "ac/company"

// Operations are the operations on an open workspace.
type Operations struct{ company.In }

// Folder has the operations on any folder, even one that is not a workspace.
type Folder struct{ company.InFolder }
