package main

// Wrong clocks: of workers, of the hub, and clocks that are set while sessions run.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	operations "ac/company"
	"ac/company/orchestration"
	"ac/fleet"
	"ac/internal/clock"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace/doc"
)

const day = 24 * time.Hour

// slack is the tolerance of a measured time on a busy machine.
const slack = 15 * time.Second

// timesFrom checks that every recorded time of a session lies between began and now, by a hub's
// clock that is ahead by the given time. Events from its worker must be in the order of their times.
func (c *company) timesFrom(began time.Time, order session.Order, ahead time.Duration) {
	c.t.Helper()
	now := time.Now()
	within := func(what, stamp string) time.Time {
		c.t.Helper()
		at, ok := clock.Parse(stamp)
		at = at.Add(-ahead)
		if !ok || at.Before(began.Add(-slack)) || at.After(now.Add(slack)) {
			c.t.Errorf("%s is at %q, not between %s and %s", what, stamp, clock.Stamp(began.Add(ahead)), clock.Stamp(now.Add(ahead)))
		}
		return at
	}
	var last time.Time
	var mono int64
	for _, e := range c.events(order) {
		at := within(e.Type, e.At)
		if e.Mono < 0 || e.Mono > now.Sub(began).Milliseconds()+slack.Milliseconds() {
			c.t.Errorf("%s: the count of milliseconds is %d", e.Type, e.Mono)
		}
		if strings.HasPrefix(e.Type, "provider.") || strings.HasPrefix(e.Type, "interaction.") {
			if at.Before(last) || e.Mono < mono {
				c.t.Errorf("%s: its time is %s behind one of %s, its count %d behind %d", e.Type, e.At, clock.Stamp(last.Add(ahead)), e.Mono, mono)
			}
			last, mono = at, e.Mono
		}
	}
	run, err := runs.Load(c.w, order.ProjectID, order.RunID)
	if err != nil {
		c.t.Fatal(err)
	}
	within("the end of the run", run.EndedAt)
}

// claimedOffset returns the clock offset that the hub measured before it granted the claim.
func (c *company) claimedOffset(order session.Order) time.Duration {
	c.t.Helper()
	for _, e := range c.events(order) {
		if e.Type == "worker.claimed" {
			var claimed struct {
				ClockOffsetMS int64 `json:"clock_offset_ms"`
			}
			if err := json.Unmarshal(e.Payload, &claimed); err != nil {
				c.t.Error(err)
			}
			return time.Duration(claimed.ClockOffsetMS) * time.Millisecond
		}
	}
	c.t.Error("nobody claimed it")
	return 0
}

// near reports whether a measured offset matches a clock that is ahead: it is the negative, within
// slack.
func near(offset, ahead time.Duration) bool { return (offset + ahead).Abs() < slack }

// TestClocksThatAreWrong checks that a session behaves as usual, however wrong a clock is. The hub
// knows the worker's offset from the first event on, before any beat reported it.
func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	for _, clocks := range []struct{ hub, worker time.Duration }{
		{0, 5 * time.Minute}, {0, -5 * time.Minute}, {0, 3 * time.Hour}, {0, -3 * time.Hour}, {0, 400 * day}, {0, -400 * day}, {-2 * day, 0}, {2 * day, -2 * day},
	} {
		t.Run(fmt.Sprintf("hub %s, worker %s", clocks.hub, clocks.worker), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := newCompanyOfMachines(t, map[string]machine{"hub": {Ahead: clocks.hub}, "box": {Ahead: clocks.worker}}, "--beat", "1m", "--unreachable-after", "3m")
			c.hire("box", 2)
			order, starts := c.chatty(5)
			c.whole(order, starts, 5)
			c.timesFromHub(began, order, clocks.hub)
			if offset := c.claimedOffset(order); !near(offset, clocks.worker-clocks.hub) {
				t.Errorf("the offset was %s when it was claimed", offset)
			}
		})
	}
}

// timesFromHub is timesFrom for a hub whose clock is ahead. It leaves out the events that the test
// itself recorded by its correct clock.
func (c *company) timesFromHub(began time.Time, order session.Order, ahead time.Duration) {
	c.t.Helper()
	if ahead == 0 {
		c.timesFrom(began, order, 0)
		return
	}
	now := time.Now()
	for _, e := range c.events(order) {
		at, ok := clock.Parse(e.At)
		if at = at.Add(-ahead); e.Type != "run.created" && e.Type != "run.started" && (!ok || at.Before(began.Add(-slack)) || at.After(now.Add(slack))) {
			c.t.Errorf("%s is at %s", e.Type, e.At)
		}
	}
}

// TestTheOffsetIsListed checks that lists include the clock offset of each worker. It is on disk
// too, so that the next hub knows it before the worker is back.
func TestTheOffsetIsListed(t *testing.T) {
	t.Parallel()
	c := newCompanyOfMachines(t, map[string]machine{"ahead": {Ahead: 3 * time.Hour}, "right": {}})
	c.hire("ahead", 1)
	c.hire("right", 1)
	for name, want := range map[string]time.Duration{"ahead": 3 * time.Hour, "right": 0} {
		c.until("the offset of "+name+" is listed", func() bool {
			row := c.row(name)
			return row.ClockOffsetMS != nil && near(time.Duration(*row.ClockOffsetMS)*time.Millisecond, want)
		})
	}
	records, _, err := fleet.ReadWorkers(c.w.FS)
	if err != nil || len(records) != 2 || records[0].Last == nil || !near(time.Duration(records[0].Last.ClockOffsetMS)*time.Millisecond, 3*time.Hour) {
		t.Errorf("%+v %v", records, err)
	}
}

// TestLeasesOfWrongClocks checks leases of workers with wrong clocks. A session that is cut off
// for less than its lease continues. One that is cut off for longer is stopped on the worker
// before the hub abandons it.
func TestLeasesOfWrongClocks(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{2 * day, -2 * day} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			t.Run("cut for less", func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				c := newCompanyOfMachines(t, map[string]machine{"box": {Ahead: ahead}})
				c.hire("box", 2)
				const lines = 200
				order, starts := c.chatty(lines)
				c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
				c.relay.set(true)
				c.until("it is unreachable", func() bool {
					record, err := session.Read(c.w, order.SessionRef)
					return err == nil && record.Reach == doc.ReachUnreachable
				})
				c.relay.set(false)
				c.whole(order, starts, lines)
				c.timesFrom(began, order, 0)
				if types, _ := c.log(order); count(types, "worker.reached") == 0 || count(types, "worker.fenced") > 0 {
					t.Error(types)
				}
			})
			t.Run("cut for longer", func(t *testing.T) {
				t.Parallel()
				c := newCompanyOfMachines(t, map[string]machine{"box": {Ahead: ahead}}, "--lease", "2s", "--lease-margin", "6s")
				c.hire("box", 2)
				order := c.launch(`while true; do echo more; sleep 0.1; done`, nil)
				c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
				c.relay.set(true)
				if record := c.collect(order); record.Status != doc.StatusFailed || record.Reason != "worker_lost" || record.Reach != doc.ReachLost {
					t.Errorf("%+v", record)
				}
				if left := processesIn(c.folders["box"]); len(left) > 0 {
					t.Errorf("the provider outlived the fence: %v", left)
				}
			})
		})
	}
}

// TestAClockIsSet sets a worker's clock while a session runs and restarts worker and hub. The
// session's events are in the order of their times, and none lies in the future.
func TestAClockIsSet(t *testing.T) {
	t.Parallel()
	for _, clocks := range [][2]time.Duration{{-3 * time.Hour, 0}, {3 * time.Hour, 0}, {0, -2 * day}, {0, 2 * day}} {
		t.Run(fmt.Sprintf("from %s to %s", clocks[0], clocks[1]), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := newCompanyOfMachines(t, map[string]machine{"box": {Ahead: clocks[0]}})
			c.hire("box", 2)
			const lines = 150
			order, starts := c.chatty(lines)
			c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
			c.kill(c.hub)
			c.startHub()
			c.kill(c.workers["box"])
			c.change(c.bins["box"], machine{Ahead: clocks[1]})
			c.startWorker("box")
			c.kill(c.hub)
			c.startHub()
			c.whole(order, starts, lines)
			// The supervisor still uses the old clock, which shifts its times by the difference.
			if clocks[0] >= clocks[1] {
				c.timesFrom(began, order, 0)
			}
			after, starts := c.chatty(5)
			c.whole(after, starts, 5)
			c.timesFrom(began, after, 0)
			if offset := c.claimedOffset(after); !near(offset, clocks[1]) {
				t.Errorf("the offset was %s when the next session was claimed", offset)
			}
		})
	}
}

// TestQuestionsFromWrongClocks checks that the times of a question, when it was asked and when it
// expires, are by the hub's clock.
func TestQuestionsFromWrongClocks(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c := newCompanyOfMachines(t, map[string]machine{"box": {Ahead: ahead}})
			s := c.speaking()
			o := s.run()
			const wait = 10 * time.Minute
			if err := s.say(o, fmt.Sprintf(`ask_human {"question":"Which way?","options":["left","right"],"wait_ms":60000,"expires_ms":%d}`, wait.Milliseconds()), func(p *orchestration.LaunchParams) {
				p.Tools(true, false)
				p.Ask(true)
			}); err != nil {
				t.Fatal(err)
			}
			question := s.asked(o)
			asked, ok := clock.Parse(question.RequestedAt)
			if now := time.Now(); !ok || asked.Before(began.Add(-slack)) || asked.After(now.Add(slack)) {
				t.Errorf("it asked at %s", question.RequestedAt)
			}
			if question.ExpiresAt == nil {
				t.Fatal("it waits for ever")
			}
			if expires, ok := clock.Parse(*question.ExpiresAt); !ok || expires.Sub(asked) != wait {
				t.Errorf("it asked at %s and waits until %s", question.RequestedAt, *question.ExpiresAt)
			}
			answer := orchestration.RespondParams{InteractionID: question.InteractionID, Answers: map[string][]string{"answer": {"left"}}}
			answer.Act(s.w.Dir(), o.ProjectID, o.RunID, "human", "human", "")
			answered, err := operations.Do(t.Context(), s.all, orchestration.Operations.Respond, answer)
			if err != nil {
				t.Fatal(err)
			}
			if at, ok := clock.Parse(answered.ResolvedAt); !ok || at.Before(began.Add(-slack)) || at.After(time.Now().Add(slack)) {
				t.Errorf("it was answered at %s", answered.ResolvedAt)
			}
			s.collect(o)
			c.timesFrom(began, o, 0)
		})
	}
}
