//go:build race

package web

// raced says that the race detector is built in, which takes many times the
// memory.
const raced = true
