// Package provisioning implements the operations that create whole workspaces: empty ones, those
// of ac init, companies with departments, the demo, and copies.
package provisioning

import "ac/company"

// Folder has the operations on any folder, even one that is not a workspace yet.
type Folder struct{ company.InFolder }
