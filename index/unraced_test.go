//go:build !race

package index

// raced says that the race detector is built in.
const raced = false
