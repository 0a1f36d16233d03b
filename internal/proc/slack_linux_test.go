package proc

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// asStarter names the variable that makes the test binary print its timer slack. "loose" also
// starts a punctual copy of it.
const asStarter = "AC_TEST_SLACK"

// TestSlack starts a process with loose timers, which in turn starts one with the default slack.
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

// say prints the timer slack of this thread.
func say(t *testing.T) {
	t.Helper()
	slack, err := timerSlack()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = os.Stdout.WriteString("slack " + slack.String() + "\n") // the parent reads it
}
