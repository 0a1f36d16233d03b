package main

// Sessions on separate hosts, over a network that loses and delays packets and is partitioned.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ac/fleet"
	"ac/runs/session"
	"ac/workspace/doc"
)

// TestABadNetwork loses, delays and reorders packets. Every line of every session arrives once
// and in order, and no session is started twice.
func TestABadNetwork(t *testing.T) {
	t.Parallel()
	for name, now := range map[string]weather{
		"loss":  {loss: 0.2},
		"delay": {delay: 300 * time.Millisecond, jitter: 100 * time.Millisecond},
		"both":  {loss: 0.05, delay: 300 * time.Millisecond, jitter: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 3)
			c := newCompanyOfHosts(t, n)
			c.hire("box1", 2)
			c.hire("box2", 2)
			n.set(now)
			const sessions, lines = 4, 100
			var orders [sessions]session.Order
			var starts [sessions]string
			for i := range sessions {
				orders[i], starts[i] = c.chatty(lines)
			}
			for i, order := range orders {
				c.whole(order, starts[i], lines)
			}
		})
	}
}

// TestPartitions cuts the network, in both directions or one, until the worker counts as
// unreachable. Its session continues, and all its output arrives once and in order.
func TestPartitions(t *testing.T) {
	t.Parallel()
	up, down := way{1, hubHost}, way{hubHost, 1}
	for name, cut := range map[string][]way{"both ways": {up, down}, "it is not heard": {up}, "it does not hear": {down}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 3)
			c := newCompanyOfHosts(t, n)
			c.hire("box1", 1)
			const lines = 300
			order, starts := c.chatty(lines)
			c.until("it runs", func() bool { _, printed := c.log(order); return strings.HasPrefix(printed, "line 1\n") })
			n.set(weather{cut: cut})
			// On a busy machine the worker may have been silent already, and its last message may
			// still arrive.
			c.until("it is unreachable", func() bool {
				record, err := session.Read(c.w, order.SessionRef)
				return err == nil && record.Reach == doc.ReachUnreachable
			})
			c.hire("box2", 1)
			other, itsStarts := c.chatty(5) // on the machine that is still reachable
			c.whole(other, itsStarts, 5)
			if record, err := session.Read(c.w, order.SessionRef); err != nil || record.Status != doc.StatusRunning || record.Reach != doc.ReachUnreachable {
				t.Errorf("%+v %v", record, err)
			}
			n.set(weather{})
			c.whole(order, starts, lines)
			types, _ := c.log(order)
			if lost, found := count(types, "worker.unreachable"), count(types, "worker.reached"); lost == 0 || found != lost {
				t.Errorf("unreachable %d times, reached %d times: %v", lost, found, types)
			}
		})
	}
}

// TestAPartitionOverTheLease checks that the worker stops its provider before the hub abandons
// the session, whichever direction is cut. Its later output becomes evidence.
func TestAPartitionOverTheLease(t *testing.T) {
	t.Parallel()
	up, down := way{1, hubHost}, way{hubHost, 1}
	for name, cut := range map[string][]way{"both ways": {up, down}, "it is not heard": {up}, "it does not hear": {down}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 2)
			c := newCompanyOfHosts(t, n, "--lease", "2s", "--lease-margin", "6s")
			c.hire("box1", 1)
			order := c.launch(`while true; do echo more; sleep 0.1; done`, nil)
			c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
			n.set(weather{cut: cut})
			record := c.collect(order)
			if record.Status != doc.StatusFailed || record.Reason != "worker_lost" || record.Reach != doc.ReachLost {
				t.Errorf("%+v", record)
			}
			if left := processesIn(c.folders["box1"]); len(left) > 0 {
				t.Errorf("the provider outlived the fence: %v", left)
			}
			before, _ := c.log(order)
			n.set(weather{})
			c.until("it is evidence", func() bool { types, _ := c.log(order); return count(types, "worker.late_evidence") > 0 })
			c.until("the worker knows", func() bool {
				var list fleet.WorkersResult
				c.ask(fleet.HubWorkers, struct{}{}, &list)
				return list.Workers[0].Online && list.Workers[0].Used == 0
			})
			if after, _ := c.log(order); count(after, "provider.raw") != count(before, "provider.raw") {
				t.Error("something late is in the log: " + fmt.Sprint(after))
			}
		})
	}
}

// stormyCompany is a company for two workers on a network that always loses and delays some
// packets. Its cuts take random directions.
func stormyCompany(t *testing.T, random *rand.Rand) (c *company, cut func(bool)) {
	t.Helper()
	n := newNetwork(t, 3)
	storm := weather{loss: 0.02, delay: 10 * time.Millisecond, jitter: 9 * time.Millisecond}
	c = newCompanyOfHosts(t, n)
	n.set(storm)
	return c, func(cut bool) {
		now := storm
		for host := 1; cut && host <= 2; host++ {
			now.cut = append(now.cut, [][]way{nil, {{host, hubHost}}, {{hubHost, host}}, {{host, hubHost}, {hubHost, host}}}[random.IntN(4)]...)
		}
		n.set(now)
	}
}
