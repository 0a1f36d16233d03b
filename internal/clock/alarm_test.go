package clock

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestAlarmAfterSuspension checks that an alarm that was due while the machine was suspended
// rings soon after it wakes. An alarm that is not due stays silent, and none rings twice.
func TestAlarmAfterSuspension(t *testing.T) {
	t.Parallel()
	var suspended atomic.Int64
	start := time.Now()
	now := func() time.Duration { return time.Since(start) + time.Duration(suspended.Load()) }
	rang, later := make(chan struct{}), make(chan struct{})
	alarm := newAlarm(now, time.Millisecond, time.Hour, func() { close(rang) }) // a second ring would panic
	other := newAlarm(now, time.Millisecond, 3*time.Hour, func() { close(later) })
	stopped := newAlarm(now, time.Millisecond, time.Hour, func() { t.Error("a stopped alarm rang") })
	stopped.Stop()
	select {
	case <-rang:
		t.Fatal("it rang before its time")
	default:
	}
	suspended.Store(int64(2 * time.Hour))
	<-rang
	select {
	case <-later:
		t.Error("an alarm rang an hour too early")
	default:
	}
	suspended.Store(int64(4 * time.Hour))
	<-later
	alarm.Stop()
	other.Stop()
}

// TestAlarmRings checks that without a suspension an alarm rings on time.
func TestAlarmRings(t *testing.T) {
	t.Parallel()
	start, rang := time.Now(), make(chan time.Duration, 1)
	After(20*time.Millisecond, func() { rang <- time.Since(start) })
	if took := <-rang; took < 19*time.Millisecond {
		t.Errorf("after %s", took)
	}
}
