package supervisor_test

// Orphaned processes: a session with a provider of any behaviour loses a process at a random
// moment.

import (
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"ac/internal/proc"
	"ac/runs/session"
	"ac/workspace/doc"
)

var (
	orphanTrials = flag.Int("orphan-trials", 12, "how many sessions lose a process at a random moment")
	orphanSeed   = flag.Uint64("orphan-seed", 0, "of the moments; 0 draws one")
)

// TestOrphans kills the supervisor, the guard, both or the provider of sessions, or stops the
// session. Meanwhile providers ignore signals, close their pipes, leave their group and
// session, or leave others behind. Nothing survives, and record, run and log agree on the end.
func TestOrphans(t *testing.T) {
	t.Parallel()
	drawn := *orphanSeed
	if drawn == 0 {
		drawn = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", drawn)
	const lanes = 4
	for lane := range lanes {
		t.Run(strconv.Itoa(lane), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(drawn, uint64(lane)))
			var s *stage
			ends := map[string]int{}
			for n := lane; n < *orphanTrials && !t.Failed(); n += lanes {
				if s == nil || n/lanes%25 == 0 { // limits the size of a workspace
					s = newStage(t)
					s.litter = true
				}
				ends[s.orphan(r)]++
			}
			t.Log(ends)
		})
	}
}

// orphan runs one trial. It returns the victim, the provider and the final status.
func (s *stage) orphan(r *rand.Rand) string {
	s.t.Helper()
	how := []string{"sleep", "stubborn", "yielding", "quiet", "family", "leave", "parent"}[r.IntN(7)]
	victim := []string{"supervisor", "guard", "both", "provider", "stop"}[r.IntN(5)]
	order := s.run(how, "x")
	s.launch(order)
	time.Sleep(time.Duration(r.IntN(120)) * time.Millisecond) // the random moment itself
	record := s.record(order)
	owner, _ := proc.Lookup(*record.OwnerPID) // may be gone; then nothing is signalled
	var guards []proc.Identity
	if children, err := proc.Children(owner.PID); err == nil && owner.Start == record.OwnerStart {
		for _, pid := range children {
			child, _ := proc.Lookup(pid)
			guards = append(guards, child)
		}
	}
	wanted := []string{doc.StatusFailed}
	switch victim {
	case "supervisor":
		s.end(proc.Identity{PID: owner.PID, Start: record.OwnerStart})
	case "guard":
		s.end(guards...)
	case "both":
		s.end(append(guards, proc.Identity{PID: owner.PID, Start: record.OwnerStart})...)
	case "provider":
		s.until("the provider is known", func() bool { return s.record(order).PID != nil })
		now := s.record(order)
		s.end(proc.Identity{PID: *now.PID, Start: now.PIDStart})
	case "stop":
		if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
			s.t.Errorf("%s of %s: %v", victim, how, err)
		}
		wanted = []string{doc.StatusStopped}
	}
	if how == "leave" || how == "parent" { // may have ended by itself
		wanted = append(wanted, doc.StatusEnded)
	}
	record = s.collect(order)
	if !slices.Contains(wanted, record.Status) {
		s.t.Errorf("%s of %s: %s %q", victim, how, record.Status, record.Error)
	}
	what := victim + " of " + how + ": " + record.Status
	s.until("all processes are gone after "+what, func() bool { return len(s.processes()) == 0 })
	return what
}

// end kills the victims that are still alive.
func (s *stage) end(victims ...proc.Identity) {
	for _, victim := range victims {
		_ = victim.Signal(os.Kill) // may be gone by now
	}
}
