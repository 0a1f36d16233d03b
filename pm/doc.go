// Package pm plans: it schedules the tasks of a project by the critical path
// method, computes their progress, and recommends agents. It is pure arithmetic
// over documents: it reads no files and no clock.
package pm
