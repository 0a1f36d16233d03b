//go:build !race

package web

// raced says that the race detector is built in.
const raced = false
