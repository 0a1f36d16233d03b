package learning

// The test binary plays the processes of a session, and one that runs a cycle until it is killed.

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

// improveCommand makes the test binary run one cycle. The workspace directory and the improvement
// follow as arguments.
const improveCommand = "improve"

func TestMain(m *testing.M) {
	playSession()
	os.Exit(runtimetest.With(m).Run())
}

// playSession plays one of these processes if the arguments ask for it.
func playSession() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(session.RunGuard()))
		case session.SuperviseCommand:
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // as in the program: our launcher may be gone
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

// conductor returns a conductor that launches sessions with this test binary.
func conductor() runs.Conductor {
	executable, err := os.Executable()
	if err != nil {
		executable = os.Args[0]
	}
	return runs.Conductor{Launcher: &session.Launcher{Executable: executable, Environ: os.Environ()}}
}
