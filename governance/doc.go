// Package governance is what agents propose and people decide: artifacts,
// changes to memory, reviews, and the record of who was allowed to do what.
//
// Invariants: the state of an item is read from the review files under the
// write lock, so that nothing is decided twice; the actor is the one the
// records know; every answer of the policy is kept in a run's log or in the
// audit log; a refusal writes its two events and nothing else.
package governance
