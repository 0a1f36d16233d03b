//go:build unix && !linux && !darwin

package proc

import "time"

// awaitGone waits a moment; the caller checks again.
func awaitGone(int, time.Duration) { time.Sleep(sweepPause) }

// onlyDead returns false, because it cannot list processes on this system.
func onlyDead(int) bool { return false }
