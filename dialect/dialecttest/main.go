package dialecttest

// The programs that a test binary can play: agents, runners, supervisors, guards, and a listener in
// its own process.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"ac/dialect"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/runs/session/supervisor"
)

// Daemon is the first argument that makes the test binary a listener. The workspace and the project
// follow as arguments. The listener first prints its address.
const Daemon = "daemon"

// Streams are the standard streams of the process.
type Streams struct{ In, Out, Err *os.File }

// Main runs the tests of a package, or plays a program. The binary's name selects one of programs,
// its first argument one of ac's own. listen makes the listener for Daemon; it may be nil.
func Main(m *testing.M, std Streams, programs map[string]func() error, listen func(context.Context, *dialect.Company) (dialect.Listener, error)) {
	if play, ok := programs[filepath.Base(os.Args[0])]; ok {
		os.Exit(exitOf(std.Err, play()))
	}
	if len(os.Args) > 1 {
		executable, err := os.Executable()
		if err != nil {
			os.Exit(exitOf(std.Err, err))
		}
		switch os.Args[1] {
		case session.GuardCommand:
			os.Exit(exitOf(std.Err, session.RunGuard()))
		case session.SuperviseCommand:
			os.Exit(exitOf(std.Err, supervisor.Main(executable, std.In, std.Out, nil)))
		case job.RunCommand:
			os.Exit(exitOf(std.Err, workflow.RunJob(executable, std.In, std.Out, nil)))
		case Daemon:
			os.Exit(exitOf(std.Err, serve(std, os.Args[2], os.Args[3], listen)))
		}
	}
	os.Exit(runtimetest.With(m).Run())
}

func exitOf(stderr io.Writer, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(stderr, err) // best effort: the exit status reports the failure, too
		return 1
	}
	return 0
}

// serve serves a company until the process is killed.
func serve(std Streams, dir, project string, listen func(context.Context, *dialect.Company) (dialect.Listener, error)) error {
	c, release := Open(dir, project, std.Err)
	listener, err := listen(context.Background(), c)
	if err == nil {
		if _, err = fmt.Fprintln(std.Out, listener.Addr); err == nil {
			err = listener.Serve(context.Background())
		}
	}
	return errors.Join(err, release())
}
