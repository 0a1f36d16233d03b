// Package snapshot provides the read models that clients poll, gathered from the index and the
// files. It never writes or signals, and a broken document hides only itself.
package snapshot
