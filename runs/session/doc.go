// Package session is the client side of the execution of runs. It launches the session of an
// order, reads and locks its record, sends requests to its supervisor, and reconciles records
// whose supervisor died. Package supervisor executes sessions.
//
// Invariants: a session is alive exactly as long as somebody holds the kernel locks of its run
// and of its session_ref. The owner takes them before it writes the record, and only their holder
// writes the record. The record is durable before the provider may act. The end of a run is one
// unit of the workspace's journal. Whoever takes the locks of a record that is still running is
// its only reconciler.
package session
