// Package live holds the conversation of a live session with its agent. It alone decides what the
// agent is sent, how its requests are answered, and what happens next. Package agent implements
// the agents' protocols. The supervisor owns the processes, the pipes and the session's record.
package live
