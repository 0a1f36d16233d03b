package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
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
		if err := StartPunctual(cmd.Start); err != nil || cmd.Wait() != nil {
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
	before, err := timerSlack()
	if err != nil {
		t.Skipf("SKIPPED: timers have no slack here: %v", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSlack$")
	var said bytes.Buffer
	cmd.Env, cmd.Stdout = append(os.Environ(), asStarter+"=loose"), &said
	if err := StartLoose(cmd.Start); err != nil || cmd.Wait() != nil {
		t.Fatal(err)
	}
	if text := said.String(); !strings.Contains(text, "slack 1ms\nslack 50µs\n") {
		t.Errorf("%s", text)
	}
	if after, err := timerSlack(); err != nil || after != before {
		t.Errorf("the thread that started it has %v instead of %v (%v)", after, before, err)
	}
}

// say writes the slack of this thread.
func say(t *testing.T) {
	t.Helper()
	slack, err := timerSlack()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("slack " + slack.String() + "\n") // read by who started this
}
