//go:build !linux

package runtimetest

// InMemory is a no-op: this system has no in-memory file system that is always there.
func InMemory() {}
