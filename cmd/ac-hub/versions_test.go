package main

// Different releases on the machines of a hub and its workers.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

// release returns a machine whose ac-hub speaks these versions.
func release(version string, protocol, orders [2]int) machine {
	return machine{Version: version, Speaks: fleet.Versions{Protocol: protocol, Orders: orders}}
}

// claimed returns the release and order version of the worker that last claimed a session.
func (c *company) claimed(order session.Order) (version string, orders int) {
	c.t.Helper()
	for _, e := range c.events(order) {
		if e.Type != "worker.claimed" {
			continue
		}
		var p struct {
			Version      string `json:"version"`
			OrderVersion int    `json:"order_version"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			c.t.Error(err)
		}
		version, orders = p.Version, p.OrderVersion
	}
	return version, orders
}

// TestReleasesThatShareAVersion checks that hub and worker use the newest order version that both
// know.
func TestReleasesThatShareAVersion(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		hub, worker machine
		orders      int
	}{
		{release("2", [2]int{1, 2}, [2]int{1, 2}), release("1", [2]int{1, 1}, [2]int{1, 1}), 1},
		{release("2", [2]int{1, 1}, [2]int{1, 2}), release("1", [2]int{1, 1}, [2]int{0, 1}), 1},
		{release("1", [2]int{1, 1}, [2]int{1, 1}), release("2", [2]int{1, 2}, [2]int{1, 2}), 1},
		{release("3", [2]int{2, 3}, [2]int{2, 3}), release("2", [2]int{1, 2}, [2]int{1, 2}), 2},
		{release("2", [2]int{1, 2}, [2]int{1, 2}), release("2", [2]int{1, 2}, [2]int{1, 2}), 2},
	} {
		t.Run(fmt.Sprintf("hub %s, worker %s", of.hub.Version, of.worker.Version), func(t *testing.T) {
			t.Parallel()
			c := newCompanyOfMachines(t, map[string]machine{"hub": of.hub, "box": of.worker})
			c.hire("box", 2)
			order, starts := c.chatty(5)
			c.whole(order, starts, 5)
			if version, orders := c.claimed(order); version != of.worker.Version || orders != of.orders {
				t.Errorf("version %s with orders of version %d", version, orders)
			}
			row := c.row("box")
			if row.Compatible == nil || !*row.Compatible || row.Version != of.worker.Version {
				t.Errorf("%+v", row)
			}
		})
	}
}

// TestReleasesThatShareNone checks that the worker is listed as incompatible and gets no sessions.
// If the protocols differ, it also reports the reason on its own machine. Once it is upgraded it
// gets sessions, without any action on the hub.
func TestReleasesThatShareNone(t *testing.T) {
	t.Parallel()
	hub := release("3", [2]int{2, 3}, [2]int{2, 3})
	for name, old := range map[string]machine{"orders": release("1", [2]int{1, 2}, [2]int{1, 1}), "protocol": release("1", [2]int{1, 1}, [2]int{1, 2})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompanyOfMachines(t, map[string]machine{"hub": hub, "box": hub})
			c.hire("box", 2)
			c.kill(c.workers["box"])
			c.change(c.bins["box"], old)
			w := c.begin("box")
			c.until("it is incompatible", func() bool { row := c.row("box"); return row.Compatible != nil && !*row.Compatible })
			if row := c.row("box"); row.Version != "1" || row.State != fleet.WorkerActive {
				t.Errorf("%+v", row)
			}
			var status fleet.StatusResult
			c.ask(fleet.HubStatus, struct{}{}, &status)
			if status.Workers.Incompatible != 1 {
				t.Errorf("%+v", status.Workers)
			}
			refused := c.order("true", nil)
			err := fleet.CallHub(t.Context(), c.w, fleet.HubPlace, fleet.PlaceRequest{Order: refused, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
			if !fault.Is(err, fleet.NoWorker) || !strings.Contains(fmt.Sprint(dataOf(t, err)), "order_version") {
				t.Errorf("it was placed: %v %v", err, dataOf(t, err))
			}
			if name == "protocol" {
				c.until("it says why", func() bool {
					return strings.Contains(w.stderr.String(), "install the same release of ac on both machines")
				})
			}
			c.kill(w)
			c.change(c.bins["box"], release("2", [2]int{1, 2}, [2]int{1, 2}))
			c.startWorker("box")
			order, starts := c.chatty(5)
			c.whole(order, starts, 5)
			if version, orders := c.claimed(order); version != "2" || orders != 2 {
				t.Errorf("version %s with orders of version %d", version, orders)
			}
		})
	}
}

// dataOf returns the data of a refusal.
func dataOf(t *testing.T, err error) map[string]any {
	t.Helper()
	data := map[string]any{}
	refusal, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatalf("%v is no refusal", err)
	}
	text, err := json.Marshal(refusal.Data)
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	if err != nil {
		t.Error(err)
	}
	return data
}

// TestAnUpgradeWhileSessionsRun upgrades or downgrades the hub first and then the worker. Running
// sessions continue without loss. Later ones use the newest order version that both know.
func TestAnUpgradeWhileSessionsRun(t *testing.T) {
	t.Parallel()
	older, newer := release("1", [2]int{1, 1}, [2]int{1, 1}), release("2", [2]int{1, 2}, [2]int{1, 2})
	for _, steps := range [][2]machine{{older, newer}, {newer, older}} {
		t.Run(fmt.Sprintf("from %s to %s", steps[0].Version, steps[1].Version), func(t *testing.T) {
			t.Parallel()
			c := newCompanyOfMachines(t, map[string]machine{"hub": steps[0], "box": steps[0]})
			c.hire("box", 4)
			const lines = 300
			first, firstStarts := c.chatty(lines)
			c.until("it runs", func() bool { _, printed := c.log(first); return printed != "" })
			c.kill(c.hub)
			c.change(c.bins["hub"], steps[1])
			c.startHub()
			second, secondStarts := c.chatty(lines)
			c.until("the second one runs", func() bool { _, printed := c.log(second); return printed != "" })
			c.kill(c.workers["box"])
			c.change(c.bins["box"], steps[1])
			c.startWorker("box")
			third, thirdStarts := c.chatty(5)
			c.whole(third, thirdStarts, 5)
			c.whole(first, firstStarts, lines)
			c.whole(second, secondStarts, lines)
			for i, order := range []session.Order{first, second, third} {
				version, orders := c.claimed(order)
				want, wanted := steps[0].Version, min(steps[0].Speaks.Orders[1], steps[1].Speaks.Orders[1])
				switch i {
				case 0:
					wanted = steps[0].Speaks.Orders[1]
				case 2:
					want, wanted = steps[1].Version, steps[1].Speaks.Orders[1]
				}
				if version != want || orders != wanted {
					t.Errorf("session %d: version %s with orders of version %d, not %s with %d", i, version, orders, want, wanted)
				}
			}
		})
	}
}

// TestAnUpgradeTooFar replaces a worker by a release that its hub does not understand. The worker
// keeps its session until the lease ends, and stops it before the hub abandons it. If a release
// that the hub understands replaces it in time, nothing is lost.
func TestAnUpgradeTooFar(t *testing.T) {
	t.Parallel()
	far := release("9", [2]int{9, 9}, [2]int{9, 9})
	t.Run("and back", func(t *testing.T) {
		t.Parallel()
		c := newCompanyOfMachines(t, map[string]machine{"box": {}})
		c.hire("box", 2)
		const lines = 200
		order, starts := c.chatty(lines)
		c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
		c.kill(c.workers["box"])
		c.change(c.bins["box"], far)
		w := c.begin("box")
		c.until("it is incompatible and unreachable", func() bool {
			row := c.row("box")
			record, err := session.Read(c.w, order.SessionRef)
			return row.Compatible != nil && !*row.Compatible && err == nil && record.Reach == doc.ReachUnreachable
		})
		c.kill(w)
		c.change(c.bins["box"], machine{})
		c.startWorker("box")
		c.whole(order, starts, lines)
	})
	t.Run("for longer than the lease", func(t *testing.T) {
		t.Parallel()
		c := newCompanyOfMachines(t, map[string]machine{"box": {}}, "--lease", "2s", "--lease-margin", "6s")
		c.hire("box", 2)
		order := c.launch(`while true; do echo more; sleep 0.1; done`, nil)
		c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
		c.kill(c.workers["box"])
		c.change(c.bins["box"], far)
		c.begin("box")
		if record := c.collect(order); record.Status != doc.StatusFailed || record.Reason != "worker_lost" || record.Reach != doc.ReachLost {
			t.Errorf("%+v", record)
		}
		if left := processesIn(c.folders["box"]); len(left) > 0 {
			t.Errorf("the provider outlived the fence: %v", left)
		}
	})
}

// TestHalfAnUpgrade checks that nothing starts on a machine whose ac and ac-hub are of different
// releases. The session goes to another machine, or fails with the reason.
func TestHalfAnUpgrade(t *testing.T) {
	t.Parallel()
	c := newCompanyOfMachines(t, map[string]machine{"half": {OtherOrders: true}})
	c.hire("half", 4)
	order, _ := c.chatty(5)
	if record := c.collect(order); record.Status != doc.StatusFailed || !strings.Contains(record.Error+record.Reason, "no_worker") {
		t.Errorf("%s: %s (%s)", record.Status, record.Error, record.Reason)
	}
	c.hire("whole", 4)
	var orders []session.Order
	var starts []string
	for range 4 {
		o, s := c.chatty(5)
		orders, starts = append(orders, o), append(starts, s)
	}
	for i := range orders {
		c.whole(orders[i], starts[i], 5)
	}
}
