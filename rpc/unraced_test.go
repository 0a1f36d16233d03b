//go:build !race

package rpc

// raced says that the race detector is built in.
const raced = false
