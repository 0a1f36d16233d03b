// Package pipeline has agents write what a project begins with: it fills
// artifacts by the CLIs of their agents, sets a project up with what is to be
// written, and has all of it written in turn.
//
// Invariants: an artifact is replaced only by an answer that is a whole document
// of its kind and carries the identity it was given; a run that a pipeline made
// is over when the pipeline answers; nothing is held locked while an agent
// works.
package pipeline
