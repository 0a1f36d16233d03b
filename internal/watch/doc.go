// Package watch reports file changes by any process. A Tree reports the changes in a folder and
// everything below it to many listeners at once. A Folder reports to a caller that waits for
// something in one folder. This package is the only user of the operating system's file events.
//
// Invariants:
//   - A listener hears of every change in what it added, from then on, at least once. One
//     change may be reported in several parts.
//   - If a change may have been lost, the listener learns that; no loss is silent.
//   - What is reached through a symlink is not watched.
package watch
