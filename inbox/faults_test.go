package inbox

// Decisions under faults: the n-th file system call fails, or is the last one of its process.
// Afterwards an item is decided entirely or not at all, and deciding it again leaves one decision
// with one effect.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ac/governance"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/workspace"
)

var everyFault = flag.Bool("every-fault", false, "let every call fail in every way, instead of some calls in two ways")

func step(usual int) int {
	if *everyFault {
		return 1
	}
	return usual
}

func faults() []faultfs.Kind {
	if *everyFault {
		return []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death}
	}
	return []faultfs.Kind{faultfs.Broken, faultfs.Death}
}

// Roles of the test binary.
const (
	dieCommand   = "die"
	crowdCommand = "crowd"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case dieCommand:
			err = die(os.Args[2:])
		case crowdCommand:
			err = crowd(os.Args[2:])
		default:
			runtimetest.InMemory()
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	runtimetest.InMemory()
	os.Exit(m.Run())
}

// deadPID is above any pid that a system assigns.
const deadPID = 1 << 30

func (s stage) copied(t *testing.T) stage {
	t.Helper()
	to := filepath.Join(t.TempDir(), "ws")
	if err := os.CopyFS(to, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	s.dir = to
	return s
}

func TestDecisionsUnderFaults(t *testing.T) {
	t.Parallel()
	base := newStage(t, 1)
	for _, i := range base.items {
		for _, decision := range []string{governance.Approved, governance.Denied} {
			t.Run(i.kind+" "+decision, func(t *testing.T) {
				t.Parallel()
				for _, kind := range faults() {
					n, s, more := 1, stage{}, true
					for ; more && !t.Failed(); n += step(4) {
						if s.dir == "" {
							s = base.copied(t)
						}
						var happened bool
						if more, happened = s.faultAt(t, i, decision, kind, n); happened {
							s.dir = "" // the other faults start from an undecided item
						}
					}
					if n < 8 {
						t.Errorf("%s: only %d calls were seen", kind, n)
					}
				}
			})
		}
	}
}

// faultAt decides on an item while the n-th call fails. It reports whether there was such a call,
// and whether the decision was made.
func (s stage) faultAt(t *testing.T, i item, decision string, kind faultfs.Kind, n int) (more, happened bool) {
	t.Helper()
	ctx := t.Context()
	plan := faultfs.NewPlan(0, kind)
	env := workspace.SystemEnv()
	env.OpenFS, env.LockPatience = plan.Open, 300*time.Millisecond
	if kind == faultfs.Death {
		env.PID = deadPID
	}
	w := open(t, env, s.dir)
	plan.Arm(n, kind)
	_, failure := Resolve(ctx, w, s.ruling(i.artifact, decision), jobs{s.project})
	hit := plan.Hit()
	plan.Arm(0, kind)
	if hit == "" {
		if failure != nil {
			t.Fatalf("without a fault: %v", failure)
		}
		return false, true
	}
	if kind != faultfs.Death {
		if err := w.Recover(ctx); err != nil {
			t.Errorf("%s: cannot be settled: %v (the decision gave: %v)", hit, err, failure)
		}
	}
	if err := plan.CloseAll(); err != nil {
		t.Errorf("%s: %v", hit, err)
	}
	return true, s.after(t, kind.String()+" "+hit, i, decision, failure)
}

// after checks a workspace in which a decision may have been made, and decides again if it was.
// It reports whether the decision had been made.
func (s stage) after(t *testing.T, what string, i item, decision string, failure error) bool {
	t.Helper()
	aged(t, s.dir)
	w := open(t, calm(), s.dir)
	ctx := t.Context()
	if err := w.Recover(ctx); err != nil {
		t.Fatalf("%s: another process cannot settle: %v", what, err)
	}
	seen := s.look(t, w, i)
	happened := seen.approvals+seen.denials > 0
	seen.is(t, what, i)
	if failure == nil && !happened {
		t.Errorf("%s: it was acknowledged and is lost", what)
	}
	s.whole(t, what, w)
	if !happened {
		return false
	}
	_, err := Resolve(ctx, w, s.ruling(i.artifact, decision), jobs{s.project})
	if (decision == governance.Approved) != fault.Is(err, fault.Conflict) {
		t.Errorf("%s: decided again: %v", what, err)
	}
	if again := s.look(t, w, i); again != seen {
		t.Errorf("%s: decided again, %+v became %+v", what, seen, again)
	}
	return true
}

// aged backdates a leftover lock file, so that it counts as stale.
func aged(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-3 * time.Minute)
	err := os.Chtimes(filepath.Join(dir, ".local/locks/workspace.write.lock"), old, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestDecidedStaysDecided decides again on approved items while calls fail. Whatever cannot be
// read, an item never counts as pending again.
func TestDecidedStaysDecided(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	calmly := open(t, calm(), s.dir)
	for _, i := range s.items {
		if _, err := Resolve(t.Context(), calmly, s.ruling(i.artifact, governance.Approved), jobs{s.project}); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range s.items {
		plan := faultfs.NewPlan(0, faultfs.Broken)
		env := workspace.SystemEnv()
		env.OpenFS, env.LockPatience = plan.Open, 300*time.Millisecond
		w := open(t, env, s.dir)
		before := s.look(t, calmly, i)
		for n := 1; ; n += step(2) {
			plan.Arm(n, faultfs.Broken)
			_, err := Resolve(t.Context(), w, s.ruling(i.artifact, governance.Approved), jobs{s.project})
			hit := plan.Hit()
			plan.Arm(0, faultfs.Broken)
			if err == nil {
				t.Fatalf("%s: approved again (%s)", i.mark, hit)
			}
			if hit == "" {
				break
			}
		}
		if after := s.look(t, calmly, i); after != before {
			t.Errorf("%s: %+v became %+v", i.mark, before, after)
		}
	}
}

// TestKilledDecisions kills a deciding process with SIGKILL, at one call after the other.
func TestKilledDecisions(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: starts many processes")
	}
	base := newStage(t, 1)
	for _, i := range base.items {
		t.Run(i.kind, func(t *testing.T) {
			t.Parallel()
			killed := 0
			s := stage{}
			for n := 20; ; n += step(16) {
				if s.dir == "" {
					s = base.copied(t)
				}
				cmd := exec.CommandContext(t.Context(), os.Args[0], dieCommand, s.dir, s.project, i.artifact, strconv.Itoa(n))
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				err := cmd.Run()
				if err == nil {
					break
				}
				if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
					t.Fatalf("call %d: %v: %s", n, err, stderr.String())
				}
				killed++
				if s.after(t, fmt.Sprintf("killed at call %d", n), i, governance.Approved, errors.New("killed")) {
					s.dir = ""
				}
				if t.Failed() {
					return
				}
			}
			if killed < 4 {
				t.Errorf("only %d processes were killed", killed)
			}
		})
	}
}

// die approves an item and kills its process at the n-th file system call.
func die(args []string) error {
	n, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	plan := faultfs.NewPlan(0, faultfs.Death)
	plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	env := workspace.SystemEnv()
	env.OpenFS = plan.Open
	w, err := workspace.Open(env, args[0])
	if err != nil {
		return err
	}
	plan.Arm(n, faultfs.Death)
	s := stage{project: args[1]}
	_, err = Resolve(context.Background(), w, s.ruling(args[2], governance.Approved), jobs{s.project})
	return errors.Join(err, w.Close())
}
