// Package heartbeat wakes workers and carries out their proposed actions. Its
// files belong to it alone, but several processes write them, so that each
// decision re-reads them.
//
// Invariants:
//   - A broken config never means an enabled heartbeat.
//   - Actions are idempotent: one whose key was executed is not executed again.
//   - Ticks of one workspace never overlap, across processes.
//   - A tick merges its changes into the files step by step, each step a unit.
//     If it dies, no step is half done and the next tick continues.
package heartbeat
