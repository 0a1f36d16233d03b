//go:build !race

package index

// raced reports whether the race detector is built in.
const raced = false
