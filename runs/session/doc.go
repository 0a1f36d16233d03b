// Package session is the execution of runs as everybody but its supervisor sees it: the order
// of a session and its launch, its record and the locks that say who owns it, what may be asked
// of its supervisor, and the reconciliation of records whose supervisor died. Package supervisor
// below it executes.
//
// Invariants: a session is alive exactly as long as somebody holds the kernel
// locks of its run and of its session_ref, which are taken before the record is
// written; only their holder writes the record; the record is durable before
// the provider may act; the end of a run is one unit of the workspace's
// journal. Whoever takes the locks of a record that still says running is its
// only reconciler.
package session
