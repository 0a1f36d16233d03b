// Package maintenance is the operations that keep a workspace in order: validation, diagnosis
// and repair, the index, sealed logs, and the migration of logs of older programs.
package maintenance

import "ac/company"

// Operations are the operations on one opened workspace.
type Operations struct{ company.In }

// Folder has the operations on one folder, in any state.
type Folder struct{ company.InFolder }
