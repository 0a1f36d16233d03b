// Package learning turns the mistakes of agents into guidance. It counts them, evaluates a
// recurring one in a run of its own, and proposes a rule against it as a change to the agent's
// AGENTS.md. It also maintains the context index in that file.
//
// Invariants: each recorded mistake counts once. What people wrote in the guidance stays byte for
// byte. A rule enters the guidance by promotion past a threshold or by an approved memory delta.
package learning
