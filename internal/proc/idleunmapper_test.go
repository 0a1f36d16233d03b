package proc

import "testing"

// TestNoRestAfterClose reports work after the end: that starts no timer.
func TestNoRestAfterClose(t *testing.T) {
	t.Parallel()
	r := NewIdleUnmapper()
	r.Touch()
	r.Close()
	r.Touch()
	if r.timer.Stop() {
		t.Error("the timer runs")
	}
}
