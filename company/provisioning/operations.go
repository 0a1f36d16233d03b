// Package provisioning is the operations that make whole workspaces: empty ones, ac init,
// companies of departments, the demo, and copies.
package provisioning

import "ac/company"

// Folder has the operations on one folder, which may be no workspace yet.
type Folder struct{ company.InFolder }
