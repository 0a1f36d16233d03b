//go:build race

package index

// raced reports whether the race detector is built in. It takes many times the memory.
const raced = true
