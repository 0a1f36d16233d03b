//go:build unix && !linux && !darwin

package proc

import "time"

// awaitGone waits a moment; the caller looks again.
func awaitGone(int, time.Duration) { time.Sleep(sweepPause) }

// onlyDead cannot list processes here.
func onlyDead(int) bool { return false }
