//go:build !race

package rpc

// raced reports whether the race detector is built in.
const raced = false
