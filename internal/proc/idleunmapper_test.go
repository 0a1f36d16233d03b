package proc

import "testing"

// TestNoRestAfterClose checks that Touch after Close starts no timer.
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
