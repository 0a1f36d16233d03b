// Package enterprise creates companies of departments: a CEO, an Executive
// Manager, and for each department a team with a director and workers.
//
// Invariants: creation is idempotent, since existing parts are used and only
// missing ones are created; it is atomic.
package enterprise
