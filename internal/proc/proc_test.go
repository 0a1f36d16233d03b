//go:build unix

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Roles of the test binary.
const (
	sleepCommand = "sleep"
	sweepCommand = "sweep"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case sleepCommand:
			time.Sleep(time.Minute) // killed long before
			return
		case sweepCommand:
			sweep()
			return
		}
	}
	os.Exit(m.Run())
}

// sweep starts a leader with descendants of every kind, which print their pids, and sweeps them.
func sweep() {
	if err := BecomeSubreaper(); err != nil {
		fmt.Println(err)
		return
	}
	script := `trap '' TERM HUP
sleep 60 & echo $!
setsid sleep 60 & echo $!
(setsid sh -c 'echo $$; sleep 60 & exec sleep 60' &)
echo leader
exit 3`
	null, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Println(err)
		return
	}
	pid, err := Start("/bin/sh", []string{"sh", "-c", script}, os.Environ(), "/", [3]*os.File{null, os.Stdout, os.Stderr})
	if err != nil {
		fmt.Println(err)
		return
	}
	exit, err := AwaitExit(pid)
	fmt.Println("exit", exit.Code, err)
	for deadline := time.Now().Add(20 * time.Second); descendants() < 4 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // each has printed its pid before the last one exists
	}
	fmt.Println("left", Sweep(pid, 5*time.Second))
}

// descendants counts our children and grandchildren.
func descendants() (n int) {
	children, err := Children(os.Getpid())
	if err != nil {
		return 0
	}
	for _, child := range children {
		theirs, err := Children(child)
		if err != nil {
			return 0
		}
		n += 1 + len(theirs)
	}
	return n
}

func started(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], words...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
	})
	return cmd
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	self := Self()
	if self.PID != os.Getpid() || self.Start == "" || !self.Alive() {
		t.Fatalf("%+v", self)
	}
	if (Identity{PID: self.PID, Start: self.Start + "0"}).Alive() || (Identity{PID: self.PID}).Alive() || (Identity{}).Alive() {
		t.Error("another life of the number counts as this one")
	}
	cmd := started(t, sleepCommand)
	id, ok := Lookup(cmd.Process.Pid)
	if !ok || !id.Alive() || id.Start == "" {
		t.Fatalf("%+v", id)
	}
	at, ok := StartedAt(id.PID)
	if off := time.Since(at); !ok || off < -2*time.Second || off > time.Minute {
		t.Errorf("started at %s", at)
	}
	stranger := Identity{PID: id.PID, Start: "another:1"}
	if err := stranger.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) || !id.Alive() {
		t.Errorf("a stranger was signalled: %v", err)
	}
	if err := id.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	// Until it is reaped it is a zombie: not alive, though its pid exists.
	for deadline := time.Now().Add(10 * time.Second); id.Alive() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if id.Alive() || !Exists(id.PID) {
		t.Error("a zombie lives, or its number is free")
	}
	_ = cmd.Wait()
	if err := id.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the gone were signalled: %v", err)
	}
}

func TestExists(t *testing.T) {
	t.Parallel()
	if !Exists(1) || Exists(1<<30) {
		t.Error("process 1 or 2^30")
	}
}

// TestSweep checks that Sweep kills and reaps a process group, and descendants that left the
// group or the session.
func TestSweep(t *testing.T) {
	t.Parallel()
	if _, err := Children(os.Getpid()); errors.Is(err, ErrUnsupported) {
		t.Skip("SKIPPED: children cannot be listed on this system")
	}
	cmd := exec.Command(os.Args[0], sweepCommand)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	said := map[string]bool{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		said[lines.Text()] = true
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			pids = append(pids, pid)
		}
	}
	if !said["exit 3 <nil>"] || !said["left []"] || len(pids) < 3 {
		t.Fatalf("%s", out)
	}
	for _, pid := range pids {
		if _, alive := Lookup(pid); alive {
			t.Errorf("%d lives", pid)
		}
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool, plain := filepath.Join(dir, "tool"), filepath.Join(dir, "plain")
	if err := errors.Join(
		os.WriteFile(tool, nil, 0o700), //nolint:gosec // it must be executable
		os.WriteFile(plain, nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	path := "/no/such/dir::" + dir
	for _, c := range []struct{ name, want string }{
		{"tool", tool}, {"./tool", dir + "/./tool"}, {tool, tool}, {"plain", ""}, {"./plain", ""}, {"missing", ""}, {dir, ""},
	} {
		got, err := LookPath(c.name, path, dir)
		if (err == nil) != (c.want != "") || (err == nil && got != c.want) {
			t.Errorf("%s: %q (%v)", c.name, got, err)
		}
	}
}

func TestSignalGroupRefuses(t *testing.T) {
	t.Parallel()
	for _, pgid := range []int{-1, 0, 1} {
		if err := SignalGroup(pgid, syscall.Signal(0)); err == nil {
			t.Errorf("group %d may be signalled", pgid)
		}
	}
}
