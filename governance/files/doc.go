// Package files implements proposed files: what a run, a job or a caller wants files to be, what
// that would change in their target, applying it, and reverting it.
//
// Invariants: nothing outside of the target, and nothing of git's own, is ever read or written.
// What a person changed since is kept, or the file is refused. An application happens entirely or
// not at all, even across crashes, and can be reverted. A worker never applies anything.
package files
