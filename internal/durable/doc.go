// Package durable is how ac accesses files. It confines every path to a root, which prevents
// path traversal by names and by symlinks, and it makes acknowledged writes survive a power
// loss.
//
// Invariants:
//   - Atomic replacement: a reader of a path sees the old document or the new one, never a torn
//     write.
//   - When Write returns nil, content and name are durable.
//   - Only regular files are opened, and an open never blocks on a FIFO.
//
// FS is the interface through which tests inject faults.
package durable
