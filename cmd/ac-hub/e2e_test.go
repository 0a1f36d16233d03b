package main

// Sessions on other machines, with real processes, any of which may die.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/fleet"
	"ac/runs/session"
	"ac/workspace/doc"
)

var (
	kills = flag.Int("kills", 8, "rounds of TestEveryoneDies")
	seed  = flag.Uint64("seed", 1, "of its choices")
)

// chatty prints numbered lines and records in a file that it was started.
const chatty = `echo started >> "$STARTS"; i=1; while [ $i -le $LINES_WANTED ]; do echo line $i; i=$((i+1)); sleep 0.02; done`

func (c *company) chatty(lines int) (order session.Order, starts string) {
	c.t.Helper()
	starts = filepath.Join(c.t.TempDir(), "starts")
	return c.launch(chatty, map[string]string{"STARTS": starts, "LINES_WANTED": fmt.Sprint(lines)}), starts
}

// whole checks that a chatty run ended, was started once, and printed every line once, in order.
func (c *company) whole(order session.Order, starts string, lines int) {
	c.t.Helper()
	record := c.collect(order)
	types, printed := c.log(order)
	want := &strings.Builder{}
	for i := range lines {
		fmt.Fprintf(want, "line %d\n", i+1)
	}
	text, err := os.ReadFile(starts)
	if err != nil || string(text) != "started\n" {
		c.t.Errorf("it was started: %q %v", text, err)
	}
	if record.Status != doc.StatusEnded || printed != want.String() || count(types, "run.ended") != 1 {
		c.t.Errorf("%s %s: %d bytes printed of %d: %v", record.Status, record.Error, len(printed), want.Len(), types)
	}
}

func TestASessionOnAnotherMachine(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.hire("box", 2)
	order, starts := c.chatty(5)
	c.whole(order, starts, 5)
	if types, _ := c.log(order); count(types, "worker.results") != 1 {
		t.Error(types)
	}
	if text, err := os.ReadFile(filepath.Join(c.w.Dir(), "work", "projects", order.ProjectID, "runs", order.RunID, "outputs", "stdout.txt")); err != nil || !strings.HasSuffix(string(text), "line 5\n") {
		t.Errorf("%q %v", text, err)
	}
}

// TestAStopIsPassedOn checks that a stop reaches the worker and that no process of the session
// survives.
func TestAStopIsPassedOn(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.hire("box", 2)
	order := c.launch(`echo up; sleep 1000 & wait`, nil)
	c.until("it runs", func() bool { _, printed := c.log(order); return printed == "up\n" })
	if _, err := session.Stop(t.Context(), c.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	if record := c.collect(order); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
}

// TestEveryoneDies repeatedly kills hub and workers, deletes the carrier's store and cuts the
// network. Every line arrives once and in order, and no session is started twice.
func TestEveryoneDies(t *testing.T) {
	t.Parallel()
	const sessions = 4
	lines := 20 * *kills
	c := newCompany(t)
	c.hire("one", 4)
	c.hire("two", 4)
	orders, starts := make([]session.Order, sessions), make([]string, sessions)
	for i := range sessions {
		orders[i], starts[i] = c.chatty(lines)
	}
	random := rand.New(rand.NewPCG(*seed, 2))
	for range *kills {
		switch random.IntN(4) {
		case 0:
			c.kill(c.hub)
			c.startHub()
		case 1:
			c.kill(c.hub)
			if err := os.RemoveAll(filepath.Join(c.w.Dir(), filepath.FromSlash(fleet.CarrierDir))); err != nil {
				t.Fatal(err)
			}
			c.startHub()
		case 2:
			name := []string{"one", "two"}[random.IntN(2)]
			c.kill(c.workers[name])
			c.startWorker(name)
		case 3:
			c.relay.set(true)
			c.until("a worker is away", func() bool {
				var status fleet.StatusResult
				c.ask(fleet.HubStatus, struct{}{}, &status)
				return status.Workers.Offline == 2
			})
			c.relay.set(false)
		}
	}
	for i, order := range orders {
		c.whole(order, starts[i], lines)
	}
}

// TestALeaseEndsOverThere checks that the worker stops the provider by itself before the hub
// abandons the session. Its later output is recorded only as evidence.
func TestALeaseEndsOverThere(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "--lease", "2s", "--lease-margin", "6s")
	c.hire("box", 2)
	order := c.launch(`echo up; while true; do sleep 0.1; echo more; done`, nil)
	c.until("it runs", func() bool { _, printed := c.log(order); return strings.HasPrefix(printed, "up\n") })
	c.relay.set(true)
	record := c.collect(order)
	if record.Status != doc.StatusFailed || record.Reason != "worker_lost" || record.Reach != doc.ReachLost {
		t.Errorf("%+v", record)
	}
	if left := processesIn(c.folders["box"]); len(left) > 0 {
		t.Errorf("the provider outlived the fence: %v", left)
	}
	types, _ := c.log(order)
	c.relay.set(false)
	c.until("it is evidence", func() bool { late, _ := c.log(order); return count(late, "worker.late_evidence") > 0 })
	c.until("the worker knows", func() bool {
		var list fleet.WorkersResult
		c.ask(fleet.HubWorkers, struct{}{}, &list)
		return list.Workers[0].Online && list.Workers[0].Used == 0
	})
	if after, _ := c.log(order); count(after, "provider.raw") != count(types, "provider.raw") {
		t.Error("something late is in the log")
	}
}
