// Package pipeline has agents write the documents that a project begins with. It fills artifacts
// with the CLIs of their agents, sets up a project with the documents to be written, and has all
// of them written in turn.
//
// Invariants: an artifact is replaced only by an answer that is a whole document of its kind with
// the identity it was given. A run that a pipeline created is over when the pipeline returns. No
// lock is held while an agent works.
package pipeline
