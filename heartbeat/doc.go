// Package heartbeat wakes workers and carries out the actions that they propose. No other package
// writes its files, but several processes do, so each decision re-reads them.
//
// Invariants:
//   - A broken config never enables the heartbeat.
//   - Actions are idempotent: an executed key is not executed again until it expires.
//   - Ticks of one workspace never overlap, even across processes.
//   - A tick writes its changes in steps, each an atomic unit. After a crash no step is half done,
//     and the next tick continues.
package heartbeat
