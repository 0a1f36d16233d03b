// Package enterprise creates companies of departments: a CEO, an Executive Manager, and for each
// department a team with a director and workers.
//
// Invariants: creation is idempotent and atomic. It reuses existing parts and creates only the
// missing ones.
package enterprise
