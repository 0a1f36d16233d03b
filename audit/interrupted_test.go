package audit

// Interrupted seals.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"ac/internal/durable/faultfs"
	"ac/workspace"
)

// TestInterrupted fails a seal at each of its calls. Everything that was signed must
// still verify, and the next seal must continue from it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.append(0, "{\"n\":0}\n")
	c.seal()
	plan := faultfs.NewPlan(0, faultfs.Broken)
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, c.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, kind := range []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late} {
		for n := 1; ; n++ {
			c.append(n%3, fmt.Sprintf("{\"n\":%d}\n", n))
			plan.Arm(n, kind)
			_, err := Seal(context.Background(), w, c.key)
			hit := plan.Hit()
			plan.Arm(0, kind)
			if r := c.verifyAny(); !r.OK {
				t.Fatalf("%s at call %d, %s (%v): %v", kind, n, hit, err, r.Findings)
			}
			if hit == "" {
				break
			}
		}
	}
	c.seal()
	if r := c.verify(); !r.OK {
		t.Error(r.Findings)
	}
}

// TestFirstInterrupted interrupts the very first seal at each of its calls. The next seal must
// succeed, without an explicit restart of the history.
func TestFirstInterrupted(t *testing.T) {
	t.Parallel()
	const lanes = 4 // run in parallel, since each waits for the disk
	for _, kind := range []faultfs.Kind{faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death} {
		for lane := range lanes {
			t.Run(fmt.Sprintf("%s/%d", kind, lane), func(t *testing.T) {
				t.Parallel()
				met := true
				for n := lane + 1; met; n += lanes {
					met = interruptFirst(t, kind, n)
				}
			})
		}
	}
}

// interruptFirst interrupts the first seal of a new company at its call n and expects
// the next one to succeed. It reports whether there was such a call.
func interruptFirst(t *testing.T, kind faultfs.Kind, n int) bool {
	c := newCompany(t)
	c.append(0, "{}\n")
	plan := faultfs.NewPlan(0, kind)
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, c.dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Arm(n, kind)
	_, err = Seal(t.Context(), w, c.key)
	hit := plan.Hit()
	_ = w.Close() // it may be dead
	c.unlock()
	if _, again := Seal(t.Context(), c.w, c.key); again != nil {
		t.Fatalf("%s at call %d, %s (%v): %v", kind, n, hit, err, again)
	}
	if r, err := Verify(t.Context(), c.w, Options{}); err != nil || !r.OK || r.Records != 1 {
		t.Fatalf("%s at call %d, %s: %+v, %v", kind, n, hit, r, err)
	}
	return hit != ""
}

// unlock backdates the lock of a killed seal, so that it is stale.
func (c *company) unlock() {
	old := time.Now().Add(-3 * time.Minute)
	if err := os.Chtimes(c.path(lockFile), old, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
}
