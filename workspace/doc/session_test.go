package doc

import "testing"

// TestLive checks that a session counts as live only while it runs and only with a driver.
func TestLive(t *testing.T) {
	t.Parallel()
	live := Session{Driver: "codex", Activity: "busy", Turn: 2, Status: StatusRunning}
	if got := live.Live(); got != (LiveSession{"codex", "busy", 2}) {
		t.Errorf("%+v", got)
	}
	over, command := live, live
	over.Status, command.Driver = StatusEnded, ""
	for _, s := range []Session{over, command} {
		if got := s.Live(); got != (LiveSession{}) {
			t.Errorf("%+v", got)
		}
	}
}
