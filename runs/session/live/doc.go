// Package live holds the conversation of a live session: an agent that is spoken with. It is the
// one place where it is decided what the agent is told, what it is answered, and what comes
// next. The protocols of agents are those of package agent; processes, pipes and the record of
// the session are its supervisor's.
package live
