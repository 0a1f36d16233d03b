// Package snapshot is the read models that clients poll, gathered from index
// and files. It never writes or signals, and a broken document hides only
// itself.
package snapshot
