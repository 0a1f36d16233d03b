// Package governance implements what agents propose and people decide: artifacts, changes to
// memory, reviews, and the record of who was allowed to do what.
//
// Invariants: the state of an item is read from the review files under the write lock, so that
// nothing is decided twice. An actor with a record acts as the records know it. Every decision of
// the policy is recorded in a run's log or in the audit log. A denial writes its two events and
// nothing else.
package governance
