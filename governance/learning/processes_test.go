package learning

// The test binary plays the processes of sessions, and one that improves until
// it is killed.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"ac/internal/runtimetest"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// improveCommand makes the test binary a process that runs one cycle: the
// directory and the improvement follow.
const improveCommand = "improve"

func TestMain(m *testing.M) {
	playSession()
	os.Exit(runtimetest.With(m).Run())
}

// playSession makes this process one of those, when it was started as such.
func playSession() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand:
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who launched us may be gone, as in the program
			executable, err := os.Executable()
			if err == nil {
				err = supervisor.Main(executable, os.Stdin, os.Stdout, nil)
			}
			os.Exit(exitOf(err))
		case improveCommand:
			os.Exit(exitOf(improveAlone(os.Args[2], os.Args[3])))
		}
	}
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func improveAlone(dir, text string) error {
	var want Improvement
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		return err
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	_, err = Improve(context.Background(), w, conductor(), want)
	return err
}

// conductor executes runs by this binary.
func conductor() runs.Conductor {
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	return runs.Conductor{Launcher: &session.Launcher{Executable: executable, Environ: os.Environ()}}
}
