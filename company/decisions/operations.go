// Package decisions is the operations on what waits for a person, and on what the person
// decides by: proposals, memory, files, milestones, help requests, and their evidence.
package decisions

import "ac/company"

// Operations are those of one opened workspace.
type Operations struct{ company.In }

// Folder has those of one folder, which may be no workspace.
type Folder struct{ company.InFolder }
