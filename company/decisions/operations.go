// Package decisions is the operations on what waits for a person, and on the material for the
// decision: proposals, memory, files, milestones, help requests, and their evidence.
package decisions

import "ac/company"

// Operations are the operations on one opened workspace.
type Operations struct{ company.In }

// Folder has the operations on one folder, which may be no workspace.
type Folder struct{ company.InFolder }
