//go:build !race

package web

// raced reports whether the race detector is enabled.
const raced = false
