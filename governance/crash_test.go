package governance

// Decisions under file system faults, after a SIGKILL, and from concurrent processes.

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ac/governance/policy"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/workspace"
	"ac/workspace/validate"
)

var everyFault = flag.Bool("every-fault", false, "let every call fail in every way, and kill at every call")

// deadPID is larger than any PID that a system assigns.
const deadPID = 1 << 30

// roleVariable names the environment variable that makes the test binary play a process of a test.
const roleVariable = "AC_GOVERNANCE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	runtimetest.InMemory()
	os.Exit(m.Run())
}

// play runs one process. By its role, the process proposes deltas, decides on each item, or
// approves one item and is killed at its n-th file system call.
func play(role string, args []string) error {
	ctx := context.Background()
	env := workspace.SystemEnv()
	env.LockPatience = time.Minute
	plan := faultfs.NewPlan(0, faultfs.Death)
	if role == "killed" {
		plan.OnDeath = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
		env.OpenFS = plan.Open
	}
	w, err := workspace.Open(env, args[0])
	if err != nil {
		return err
	}
	defer w.Close()
	project, items := args[1], args[2:]
	switch role {
	case "propose":
		for i := range items {
			spec := DeltaSpec{ProjectID: project, Title: "T", Under: "## Decisions", Lines: []string{"- new " + items[i]}, Visibility: "org", ProducedBy: "human", RunID: "run_manual", ContextPackID: "ctx_manual"}
			if _, err := ProposeDelta(ctx, w, spec); err != nil {
				return err
			}
		}
		return nil
	case "killed":
		n, err := strconv.Atoi(items[1])
		if err != nil {
			return err
		}
		plan.Arm(n, faultfs.Death)
		items = items[:1]
		role = Approved
	}
	for _, id := range items {
		r := Ruling{Item: Item{project, id}, Decision: role, Actor: policy.Actor{ID: role, Role: "human"}}
		if _, err := DecideDelta(ctx, w, r); err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}

func process(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

// TestProcesses has several processes approve, deny and propose concurrently. It checks that no
// change is lost and that no item is decided twice.
func TestProcesses(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.write(t, workspace.MemoryFile(c.project), memory)
	const n = 12
	var items, names []string
	for i := range n {
		items = append(items, c.propose(t, c.spec(fmt.Sprintf("- item %d.", i))).ArtifactID)
		names = append(names, fmt.Sprintf("%d.", i))
	}
	backwards := append([]string{}, items...)
	for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
		backwards[i], backwards[j] = backwards[j], backwards[i]
	}
	args := func(rest []string) []string { return append([]string{c.Dir(), c.project}, rest...) }
	processes := []*exec.Cmd{
		process(t, Approved, args(items)...), process(t, Approved, args(backwards)...), process(t, Denied, args(backwards)...), process(t, "propose", args(names)...),
	}
	for _, p := range processes {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range processes {
		if err := p.Wait(); err != nil {
			t.Fatalf("%v: %s", err, p.Stderr)
		}
	}
	text := c.text(t, workspace.MemoryFile(c.project))
	approvals, denials := map[string]int{}, map[string]int{}
	reviews, err := Reviews(c.Workspace, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reviews {
		if r.Decision == Approved {
			approvals[r.Subject.ArtifactID]++
		} else {
			denials[r.Subject.ArtifactID]++
		}
	}
	for i, id := range items {
		if approvals[id] != 1 || denials[id] > 1 || strings.Count(text, fmt.Sprintf("- item %d.\n", i)) != 1 {
			t.Errorf("item %d: approved %d times, denied %d times, %d times in the memory", i, approvals[id], denials[id], strings.Count(text, fmt.Sprintf("- item %d.\n", i)))
		}
	}
	decided := 0
	for _, e := range c.events(t, workspace.LogFile(c.project, c.run), 1) {
		if e.Type == "approval.decided" {
			decided++
		}
	}
	if decided != len(reviews) {
		t.Errorf("%d events of %d reviews", decided, len(reviews))
	}
	if names, err := workspace.Files(c.FS, workspace.ArtifactsDir(c.project), ".patch"); err != nil || len(names) != 2*n {
		t.Errorf("%d proposals, %v", len(names), err)
	}
	if found := validate.Folder(c.Env, c.Dir()); len(found.Issues) > 0 {
		t.Errorf("%+v", found.Issues)
	}
}

// whole recovers the workspace and checks that the approval is atomic: complete or absent. It
// approves again and checks that there is then exactly one approval.
func (c *company) whole(t *testing.T, what, id string) (happened bool) {
	t.Helper()
	if err := c.Recover(t.Context()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	state := func() (lines, reviews, decided int) {
		lines = strings.Count(c.text(t, workspace.MemoryFile(c.project)), "- one\n")
		found, err := Reviews(c.Workspace, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.events(t, workspace.LogFile(c.project, c.run), 1) {
			if e.Type == "approval.decided" {
				decided++
			}
		}
		return lines, len(found), decided
	}
	lines, reviews, decided := state()
	if lines != reviews || lines != decided || lines > 1 {
		t.Errorf("%s: %d lines, %d reviews, %d events", what, lines, reviews, decided)
	}
	if err := c.approve(t, id); (err == nil) != (lines == 0) {
		t.Errorf("%s: approving again: %v", what, err)
	}
	if lines, reviews, decided := state(); lines != 1 || reviews != 1 || decided != 1 {
		t.Errorf("%s: in the end %d lines, %d reviews, %d events", what, lines, reviews, decided)
	}
	if found := validate.Folder(c.Env, c.Dir()); len(found.Issues) > 0 {
		t.Errorf("%s: %+v", what, found.Issues)
	}
	if c.NeedsRecovery() {
		t.Errorf("%s: an intent is left", what)
	}
	return lines == 1
}

// copied copies the company to its own directory and opens it with env.
func (c *company) copied(t *testing.T, env workspace.Env) *company {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.CopyFS(dir, os.DirFS(c.Dir())); err != nil {
		t.Fatal(err)
	}
	return c.opened(t, env, dir)
}

func (c *company) opened(t *testing.T, env workspace.Env, dir string) *company {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	again := *c
	again.Workspace = w
	return &again
}

// aged backdates a remaining lock file so that it counts as stale.
func (c *company) aged(t *testing.T) {
	t.Helper()
	old := time.Now().Add(-3 * time.Minute)
	err := os.Chtimes(filepath.Join(c.Dir(), ".local/locks/workspace.write.lock"), old, old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestApprovalFaults checks that an approval stays atomic when a file system call fails.
func TestApprovalFaults(t *testing.T) {
	t.Parallel()
	kinds, step := []faultfs.Kind{faultfs.Late, faultfs.Death}, 5
	if *everyFault {
		kinds, step = []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death}, 1
	}
	base := newCompany(t)
	base.write(t, workspace.MemoryFile(base.project), memory)
	id := base.propose(t, base.spec("- one")).ArtifactID
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			for n := 1; ; n += step {
				plan := faultfs.NewPlan(0, kind)
				env := workspace.SystemEnv()
				env.OpenFS, env.LockPatience = plan.Open, 300*time.Millisecond
				if kind == faultfs.Death {
					env.PID = deadPID
				}
				c := base.copied(t, env)
				plan.Arm(n, kind)
				failure := c.approve(t, id)
				hit := plan.Hit()
				plan.Arm(0, kind)
				if kind != faultfs.Death && hit != "" {
					// The process survives and recovers by itself.
					if err := c.Recover(t.Context()); err != nil {
						t.Errorf("%s: %v", hit, err)
					}
				}
				if err := plan.CloseAll(); err != nil {
					t.Error(err)
				}
				if hit == "" {
					if failure != nil || n < 20 {
						t.Errorf("%d calls: %v", n, failure)
					}
					return
				}
				c.aged(t)
				calm := workspace.SystemEnv()
				calm.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
				if happened := c.opened(t, calm, c.Dir()).whole(t, hit, id); !happened && failure == nil {
					t.Errorf("%s: it was acknowledged and is lost", hit)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestKilledApproval checks that an approval stays atomic when its process is killed at a file
// system call.
func TestKilledApproval(t *testing.T) {
	t.Parallel()
	step := 16
	if *everyFault {
		step = 1
	}
	base := newCompany(t)
	base.write(t, workspace.MemoryFile(base.project), memory)
	id := base.propose(t, base.spec("- one")).ArtifactID
	outcomes := map[bool]int{}
	for n := 1; ; n += step {
		c := base.copied(t, workspace.SystemEnv())
		p := process(t, "killed", c.Dir(), c.project, id, strconv.Itoa(n))
		err := p.Run()
		if err == nil {
			break
		}
		if p.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("call %d: %v: %s", n, err, p.Stderr)
		}
		c.aged(t)
		outcomes[c.whole(t, fmt.Sprint("killed at call ", n), id)]++
		if t.Failed() {
			return
		}
	}
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Errorf("outcomes: %v", outcomes)
	}
}
