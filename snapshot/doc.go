// Package snapshot is the read models that clients poll: what the files say,
// gathered. Nothing here writes or signals, and one broken document hides only
// itself.
package snapshot
