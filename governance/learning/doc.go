// Package learning turns the mistakes of agents into guidance: it counts them, evaluates
// a recurring one in a run of its own, and proposes the rule against it as a change of
// the agent's AGENTS.md. It also keeps the context index in that file.
//
// Invariants: each recorded mistake counts once; what people wrote in the guidance stays
// byte for byte; a rule enters the guidance by promotion past a threshold or by an
// approved memory delta.
package learning
