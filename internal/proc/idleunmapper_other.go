//go:build !linux

package proc

func unmapProgram() {}
