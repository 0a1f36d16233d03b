package company

// The count of quiet live runs in the room. It is the only count that changes as time passes.

import (
	"time"

	"ac/internal/clock"
	"ac/snapshot/room"
	"ac/workspace/doc"
)

// quietAfter is how long a live run must print nothing to count as quiet. The options of the
// process can override it.
const quietAfter = time.Minute

// lastOutput is when a live run last printed something.
type lastOutput struct {
	project string
	at      time.Time
}

// recordOutput records when the live runs among changed rows last printed something. The caller holds
// mu.
func (k *liveRoom) recordOutput(changes []room.Change) {
	for _, c := range changes {
		if c.Table != room.TableRuns {
			continue
		}
		delete(k.lastOutputs, c.ID)
		row, ok := c.Row.(room.Run)
		if !ok || row.Status != doc.StatusRunning || row.Started == "" || row.Ended != "" || row.Open > 0 {
			continue
		}
		at, _ := clock.Parse(row.Started)
		if said, ok := clock.Parse(row.SaidAt); ok && said.After(at) {
			at = said
		}
		k.lastOutputs[c.ID] = lastOutput{row.Project, at}
	}
}

// quiet adds the number of quiet runs to the counts. A non-nil tables replaces the saved counts.
// next is when the next run becomes quiet, zero for never. The caller holds mu.
func (k *liveRoom) quiet(tables []room.Change) (changes []room.Change, next time.Time) {
	if tables != nil {
		k.counts = tables
	}
	now, quiet := k.c.w.Env.Clock.Now(), map[string]int{}
	for _, last := range k.lastOutputs {
		if due := last.at.Add(k.c.host.quiet); due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		quiet[last.project]++
		quiet[""]++
	}
	for _, c := range k.counts {
		if counts, ok := c.Row.(room.Counts); ok {
			counts.Quiet = quiet[c.Project]
			c.Row = counts
			changes = append(changes, c)
		}
	}
	return changes, next
}

// recount counts the quiet runs again, and returns when the next run becomes quiet.
func (k *liveRoom) recount() (next time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	changes, next := k.quiet(nil)
	return next, k.apply(changes)
}
