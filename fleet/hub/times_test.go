package hub

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/clock"
	"ac/runs/session"
	"ac/workspace/doc"
)

// TestTimesStayInOrder checks that a worker's times are converted to the hub's clock. They never go
// back and never lie in the future.
func TestTimesStayInOrder(t *testing.T) {
	t.Parallel()
	h := &Hub{w: testWorkspace(t)}
	l := &launch{h: h, order: session.Order{}}
	now := h.w.Env.Clock.Now()
	stamp := func(d time.Duration) string { return now.Add(d).UTC().Format("2006-01-02T15:04:05.000Z") }
	times := []time.Time{
		l.timeOf(stamp(-time.Hour), 0), l.timeOf(stamp(-2*time.Hour), 0), l.timeOf(stamp(-time.Hour), 60_000), l.timeOf(stamp(time.Hour), 0), l.timeOf("nonsense", 0),
	}
	if !slices.IsSortedFunc(times, time.Time.Compare) || times[4].After(h.w.Env.Clock.Now()) {
		t.Error(times)
	}
	if want := now.Add(-time.Hour + time.Minute).Truncate(time.Millisecond); !times[2].Equal(want) {
		t.Error(times[2], want)
	}
}

// TestAClockIsKnownAtOnce checks the sources of a worker's clock offset. At first it comes from the
// stored record, then from the hello of each new process. Beats correct it.
func TestAClockIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	const hour, now = int64(time.Hour / time.Millisecond), int64(1_000_000_000)
	w := newWorker(fleet.WorkerRecord{Last: &fleet.LastSeen{ClockOffsetMS: 3 * hour}})
	hello := func(boot string, ahead int64) {
		w.introduce(fleet.Hello{Stamp: fleet.Stamp{Boot: boot}, NowMS: now + ahead}, now)
	}
	is := func(what string, want int64) {
		t.Helper()
		if w.offset != want {
			t.Errorf("%s: %d, not %d", what, w.offset, want)
		}
	}
	is("before its hello", 3*hour)
	hello("first", 2*hour)
	is("at its hello", -2*hour)
	hello("first", -5*hour)
	is("at a hello of the same process, which may have waited for its connection", -2*hour)
	w.measure(-2*hour - 100)
	w.measure(-2*hour - 100)
	is("after beats", -2*hour-100)
	w.introduce(fleet.Hello{Stamp: fleet.Stamp{Boot: "silent"}}, now)
	is("at a hello that does not tell the time", -2*hour-100)
	hello("second", 0)
	is("after its clock was set", 0)
}

// TestTimesGoOnAfterARestart checks that the next hub knows the newest time of a draft, from the
// log or from the checkpoint.
func TestTimesGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	h := &Hub{w: testWorkspace(t)}
	at := h.w.Env.Clock.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for name, of := range map[string]struct {
		log  string
		last int64
	}{
		"the log has it":        {`{"event_id":"evt_1","ts_wallclock":"` + clock.Stamp(at) + `","type":"provider.raw"}` + "\n", 0},
		"the checkpoint has it": {"", at.UnixMilli()},
	} {
		l := &launch{h: h, name: "work/log.jsonl"}
		l.record.Checkpoint.LastMS = of.last
		if err := h.w.Replace(l.name, []byte(of.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.recover(); err != nil {
			t.Fatal(err)
		}
		if next := l.timeOf(clock.Stamp(at.Add(-3*time.Hour)), 0); !next.Equal(at) {
			t.Errorf("%s: the next time is %s, not %s", name, next, at)
		}
	}
}

// TestTimesOfClosingEvents checks that closing events get times of the hub's clock.
func TestTimesOfClosingEvents(t *testing.T) {
	t.Parallel()
	h := &Hub{w: testWorkspace(t), workers: map[string]*worker{"w": {offset: (3 * time.Hour).Milliseconds()}}}
	l := &launch{h: h, at: place{worker: "w"}, order: session.Order{AgentID: "agent"}}
	at := h.w.Env.Clock.Now().Add(-time.Minute).Truncate(time.Millisecond)
	end := l.endOf(fleet.End{Status: doc.StatusEnded, Closing: []fleet.Draft{{
		ID: h.w.Env.IDs.New("evt"), At: clock.Stamp(at.Add(-3 * time.Hour)), Actor: events.ActorSystem, Vis: events.VisibilityOrg, Type: "usage.reported", Payload: json.RawMessage("{}"),
	}}})
	if len(end.Before) != 1 || !end.Before[0].At.Equal(at) {
		t.Errorf("%+v, not at %s", end.Before, at)
	}
}
