// Package inbox decides on pending items: the type of an artifact determines
// the effect of its approval and its denial.
//
// Invariants:
//   - An item is decided once, even under concurrent requests.
//   - The changes of an approval, its review and its events are atomic.
//   - A refusal leaves nothing behind but the decisions of the policy.
package inbox
