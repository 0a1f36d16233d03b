// Package governance is what people and managers do about work: saying
// something about it, for a start.
//
// Invariants: what is decided or said is durable, with the event that tells of
// it, when the call returns; nothing said is ever changed.
package governance
