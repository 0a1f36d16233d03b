// Package supervisor executes the runs of sessions. A supervisor is a process, or part of one,
// that follows one provider to its end. It stops the provider on request, records its output and
// usage, and answers at the session's socket. On a hub, Remote takes the supervisor's place for a
// provider on another machine. To read sessions or send them requests, package session is enough.
package supervisor
