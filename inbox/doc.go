// Package inbox decides on pending items. The type of an artifact determines the effects of its
// approval and denial.
//
// Invariants:
//   - An item is decided once, even under concurrent requests.
//   - The changes of an approval, its review and its events are atomic.
//   - A refused decision changes nothing, except for the recorded policy decisions.
package inbox
