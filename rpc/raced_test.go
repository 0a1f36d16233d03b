//go:build race

package rpc

// raced reports whether the race detector is built in. It takes many times the
// memory.
const raced = true
