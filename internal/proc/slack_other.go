//go:build !linux

package proc

// StartLoose calls start to start a process whose timers may be late. On this system it only
// calls start.
func StartLoose(start func() error) error { return start() }

// StartPunctual calls start to start a process with the usual timer slack.
func StartPunctual(start func() error) error { return start() }
