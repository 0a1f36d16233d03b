//go:build !linux

package proc

// StartLoose calls start for a process for which it does not matter when its timers are late. It
// is start where that cannot be said.
func StartLoose(start func() error) error { return start() }

// StartPunctual calls start for a process whose timers are as late as is usual.
func StartPunctual(start func() error) error { return start() }
