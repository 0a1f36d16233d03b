//go:build race

package web

// raced reports whether the race detector is enabled. TestEnd then ignores its time limit.
const raced = true
