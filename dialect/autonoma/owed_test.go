package autonoma

import (
	"testing"
	"time"

	"ac/internal/clock"
	"ac/workspace/doc"
)

// TestOwedAcrossARestart checks which answers a new daemon still owes. It owes those of jobs that
// ended after it started, however short: a slow machine may create a job long after its request
// came. Of jobs that ended earlier, it owes those that took longer than a client waits.
func TestOwedAcrossARestart(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	m := newCodeMemory(since)
	for name, c := range map[string]struct {
		began, ended time.Duration
		owed         bool
	}{
		"short, over after the restart":  {-time.Second / 10, time.Second / 10, true},
		"short, over before the restart": {-time.Second, -time.Second / 2, false},
		"long, over before the restart":  {-time.Minute, -time.Second, true},
		"over long ago":                  {-3 * holds, -2 * holds, false},
	} {
		record := doc.Job{CreatedAt: clock.Stamp(since.Add(c.began)), UpdatedAt: clock.Stamp(since.Add(c.ended))}
		if owed := m.serves(record, since.Add(time.Second), 10*time.Second); owed != c.owed {
			t.Errorf("%s: owed %t", name, owed)
		}
	}
}
