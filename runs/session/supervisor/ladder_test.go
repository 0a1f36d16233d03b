package supervisor

import (
	"testing"
	"testing/synctest"
	"time"

	"ac/internal/guard"
	"ac/runs/session"
)

// TestLimitOfSession: the processes of a session share its time limit, so a per-turn agent does
// not get it again with each turn.
func TestLimitOfSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		processes int
		overdue   bool
	}{
		"one process within the limit": {1, false},
		"two processes beyond it":      {2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reports := make(chan guard.Report)
				s := &supervisor{
					order: session.Order{LimitMS: 1000}, guard: &session.Guard{Reports: reports}, stop: make(chan struct{}),
				}
				for range c.processes {
					go func() {
						time.Sleep(600 * time.Millisecond)
						reports <- guard.Report{Exit: &guard.Exit{}}
					}()
					s.awaitExit(nil, nil)
				}
				if s.overdue != c.overdue || s.isStopRequested() != c.overdue {
					t.Errorf("overdue: %v, stopped: %v", s.overdue, s.isStopRequested())
				}
			})
		})
	}
}
