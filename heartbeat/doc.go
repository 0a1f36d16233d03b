// Package heartbeat wakes workers and carries out what they ask for. Its files
// belong to it alone, but several processes write them, so that each is read
// anew for what is decided.
//
// Invariants: a broken config is never an enabled heartbeat; what an action's
// key says was executed is not executed again; ticks of one workspace never
// overlap, whoever ticks; what a tick changes it merges into the files as they
// are, a step at a time, so that a tick that dies leaves no step half done and
// the next one goes on where it was.
package heartbeat
