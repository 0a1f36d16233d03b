package audit

// Sealing: what it refuses, how a history is restarted, and seals of growing logs.

import (
	"context"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/internal/fault"
)

// TestSealRefuses checks that logs that were changed, shortened, removed or made unreadable are
// not sealed again.
func TestSealRefuses(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.append(1, "{}\n")
	c.append(2, "{}\n")
	c.append(3, "{}\n")
	c.seal()
	c.write(logName(1), "x}\n{}\n")
	c.write(logName(2), "")
	c.remove(logName(3))
	c.append(4, "{}\n")
	s := c.seal()
	if diff := cmp.Diff([]string{"changed run_1.", "shortened run_2.", "removed run_3."}, codes(s.Refused)); diff != "" || s.Added != 1 {
		t.Errorf("%d added; %s", s.Added, diff)
	}
	if diff := cmp.Diff([]string{"changed run_1.", "shortened run_2.", "removed run_3."}, codes(c.verify().Findings)); diff != "" {
		t.Error(diff)
	}
	for _, state := range []string{"kept", "missing"} {
		if state == "missing" {
			c.remove(stateFile)
		}
		c.remove(logName(4))
		if err := syscall.Mkfifo(c.path(logName(4)), 0o600); err != nil {
			t.Fatal(err)
		}
		s := c.seal()
		if diff := cmp.Diff([]string{"changed run_1.", "shortened run_2.", "removed run_3.", "unreadable run_4."}, codes(s.Refused)); diff != "" || s.Added != 0 {
			t.Errorf("a FIFO in place of a log, with the state %s: %d added; %s", state, s.Added, diff)
		}
	}
	c.write(recordsFile, "{}\n")
	if _, err := Seal(context.Background(), c.w, c.key); !fault.Is(err, fault.Conflict) {
		t.Errorf("a history that does not fit: %v", err)
	}
}

// TestRestart checks that only an explicit restart replaces a damaged history, and that the
// restart is reported.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(c *company){
		"all is removed":              func(c *company) { c.remove(Dir) },
		"the checkpoints are removed": func(c *company) { c.remove(checkpointsDir) },
		"the newest is removed":       func(c *company) { c.remove(checkpointFile(2)) },
		"the records are cut":         func(c *company) { c.write(recordsFile, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			c.append(1, "{}\n")
			c.seal()
			c.append(2, "{}\n")
			c.seal()
			if _, err := SealAnew(t.Context(), c.w, c.key); !fault.Is(err, fault.Conflict) {
				t.Errorf("a history that is whole was begun anew: %v", err)
			}
			attack(c)
			if _, err := Seal(t.Context(), c.w, c.key); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "--restart") {
				t.Fatalf("it was sealed over: %v", err)
			}
			s, err := SealAnew(t.Context(), c.w, c.key)
			if err != nil || s.Checkpoint.Size != 3 {
				t.Fatalf("%+v %v", s, err)
			}
			r := c.verify(c.path(s.File))
			if !r.OK || len(r.Restarts) != 1 || r.Restarts[0].Size != 2 || r.Restarts[0].Reason == "" {
				t.Errorf("%+v", r)
			}
			c.append(1, "{}\n")
			if s := c.seal(); s.Checkpoint.Size != 4 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// verifyAny returns the report of a history in any state.
func (c *company) verifyAny() Report {
	r, err := Verify(context.Background(), c.w, Options{Key: c.key.Public})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// TestSealers seals concurrently while logs grow.
func TestSealers(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 10 {
				c.append(g, "{}\n")
				c.seal()
			}
		})
	}
	wg.Wait()
	if r := c.verify(); !r.OK || r.Records < 10 {
		t.Errorf("%d records, %v", r.Records, r.Findings)
	}
}

// TestAnyGrowth seals after random growth of logs. The history must verify, with every
// checkpoint that was kept.
func TestAnyGrowth(t *testing.T) {
	t.Parallel()
	c := newCompany(t) // shared by all checks of rapid
	c.append(0, "{}\n")
	c.seal() // a company that was never sealed is a finding when a key is given
	rapid.Check(t, func(rt *rapid.T) {
		var kept []string
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			c.append(rapid.IntRange(0, 4).Draw(rt, "log"), rapid.SampledFrom([]string{"{}\n", "torn", "\n", "a\nb\nc"}).Draw(rt, "text"))
			switch rapid.IntRange(0, 5).Draw(rt, "loses") { // a seal also works without its state or tiles
			case 0:
				_ = os.Remove(c.path(stateFile))
			case 1:
				_ = os.RemoveAll(c.path(Dir + "/tile"))
			}
			if rapid.Bool().Draw(rt, "seal") {
				if s := c.seal(); s.File != "" {
					kept = append(kept, c.path(s.File))
				}
			}
		}
		if r := c.verify(kept...); !r.OK {
			rt.Fatalf("%v", r.Findings)
		}
	})
}
