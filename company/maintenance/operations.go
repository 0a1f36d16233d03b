// Package maintenance implements the operations that keep a workspace in order: validation,
// diagnosis and repair, the index, sealed logs, and the migration of logs of older programs.
package maintenance

import "ac/company"

// Operations are the operations on an open workspace.
type Operations struct{ company.In }

// Folder has the operations on any folder, whatever its state.
type Folder struct{ company.InFolder }
