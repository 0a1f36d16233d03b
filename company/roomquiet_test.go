package company

import (
	"testing"
	"time"

	"ac/internal/clock"
	"ac/snapshot/room"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestQuietRuns checks the count of live runs without output for a minute, and the time at which
// the next run becomes quiet.
func TestQuietRuns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	env := workspace.SystemEnv()
	env.Clock = clock.New(func() time.Time { return now }, 0)
	k := newLiveRoom(&Company{location: location{host: &Host{quiet: quietAfter}}, w: &workspace.Workspace{Env: env}}, 10)
	stamp := func(ago time.Duration) string { return clock.Stamp(now.Add(-ago)) }
	run := func(id, project string, change func(*room.Run)) room.Change {
		row := room.Run{Project: project, Status: doc.StatusRunning, Started: stamp(time.Hour)}
		change(&row)
		return room.Change{Key: room.Key{Table: room.TableRuns, ID: id}, Project: project, Row: row}
	}
	k.recordOutput([]room.Change{
		run("r1", "p", func(r *room.Run) { r.SaidAt = stamp(2 * time.Minute) }),
		run("r2", "p", func(r *room.Run) { r.SaidAt = stamp(50 * time.Second) }),
		run("r3", "q", func(*room.Run) {}),                   // no output yet
		run("r4", "q", func(r *room.Run) { r.Open = 1 }),     // waits for a person
		run("r5", "q", func(r *room.Run) { r.Started = "" }), // never launched
		run("r6", "q", func(r *room.Run) { r.Ended = "x" }),  // over
		run("r7", "q", func(r *room.Run) { r.Status = "ended" }),
	})
	k.counts = nil
	for _, project := range []string{"", "p", "q"} {
		id := project
		if id == "" {
			id = "all"
		}
		k.counts = append(k.counts, room.Change{Key: room.Key{Table: room.TableCounts, ID: id}, Project: project, Row: room.Counts{Live: 2}})
	}
	quiet := func() (n [3]int, next time.Time) {
		changes, next := k.quiet(nil)
		for i, c := range changes {
			n[i] = c.Row.(room.Counts).Quiet //nolint:forcetypeassert // as it was put in
		}
		return n, next
	}
	if n, next := quiet(); n != [3]int{2, 1, 1} || next.Sub(now) != 10*time.Second {
		t.Errorf("%v, next in %s", n, next.Sub(now))
	}
	now = now.Add(10 * time.Second)
	if n, next := quiet(); n != [3]int{3, 2, 1} || !next.IsZero() {
		t.Errorf("later: %v, next %s", n, next)
	}
	k.recordOutput([]room.Change{{Key: room.Key{Table: room.TableRuns, ID: "r1"}}, run("r2", "p", func(r *room.Run) { r.SaidAt = stamp(0) })})
	if n, _ := quiet(); n != [3]int{1, 0, 1} {
		t.Errorf("after one spoke and one went: %v", n)
	}
}
