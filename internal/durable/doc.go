// Package durable is how ac touches files: through a root that no path and no
// symlink leaves, and so that what was acknowledged survives a power loss.
//
// Invariants: a reader of a path sees an old document or a new one, never a
// part; when Write returns nil, content and name are on the disk; only regular
// files are opened, without ever hanging on a FIFO. FS is the seam through
// which tests inject failures.
package durable
