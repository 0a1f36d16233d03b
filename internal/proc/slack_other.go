//go:build !linux

package proc

import "os/exec"

// StartLoose starts a command for which it does not matter when its timers are late. It is Start
// where that cannot be said.
func StartLoose(cmd *exec.Cmd) error { return cmd.Start() }

// StartPunctual starts a command whose timers are as late as is usual.
func StartPunctual(cmd *exec.Cmd) error { return cmd.Start() }
