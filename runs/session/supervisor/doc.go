// Package supervisor executes the runs of sessions: one process, or a part of one, follows one
// provider to its end, stops it when that is asked for, records what it prints and what it
// spent, and answers at the session's socket. On a hub, Remote stands in for a supervisor whose
// provider is on another machine. Who only looks at sessions, or asks for something, needs
// package session alone.
package supervisor
