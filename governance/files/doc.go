// Package files is proposed files: what a run, a job or a caller wants files to be, what
// that would change where they belong, applying it, and taking it back.
//
// Invariants: nothing outside of the target and nothing of git's own is ever read or
// written; what a person changed since is kept, or the file is refused; an application
// happens entirely or not at all, across crashes, and can be reverted; a worker never
// applies anything.
package files
