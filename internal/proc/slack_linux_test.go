package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asStarter has this program start another one of itself, punctually, and say how late its own
// timers and those of the other one may be.
const asStarter = "AC_TEST_SLACK"

// TestSlack starts a process with loose timers, which starts one with the usual ones.
func TestSlack(t *testing.T) {
	switch os.Getenv(asStarter) {
	case "loose":
		cmd := exec.Command(os.Args[0], "-test.run=^TestSlack$")
		cmd.Env, cmd.Stdout = append(os.Environ(), asStarter+"=punctual"), os.Stdout
		say(t)
		if err := StartPunctual(cmd); err != nil || cmd.Wait() != nil {
			t.Fatal(err)
		}
		return
	case "punctual":
		say(t)
		return
	}
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Skipf("SKIPPED: timers have no slack here: %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSlack$")
	var said bytes.Buffer
	cmd.Env, cmd.Stdout = append(os.Environ(), asStarter+"=loose"), &said
	if err := StartLoose(cmd); err != nil || cmd.Wait() != nil {
		t.Fatal(err)
	}
	if text := said.String(); !strings.Contains(text, "slack 1ms\nslack 50µs\n") {
		t.Errorf("%s", text)
	}
	if after, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || after != before {
		t.Errorf("the thread that started it has %d instead of %d (%v)", after, before, err)
	}
}

// say writes the slack of this thread.
func say(t *testing.T) {
	t.Helper()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]int{"1ms": int(looseSlack), "50µs": int(systemSlack)} {
		if d == slack {
			_, _ = os.Stdout.WriteString("slack " + name + "\n") // read by who started this
		}
	}
}
