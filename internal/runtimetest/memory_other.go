//go:build !linux

package runtimetest

// InMemory does nothing here: this system has no file system in memory that all have.
func InMemory() {}
