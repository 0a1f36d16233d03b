package rpc

// The test binary also acts as the server and as the hidden commands of its sessions.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

// Environment of a test binary that acts as a server: serveVariable makes it
// one, chatterVariable sets how many log lines it writes first.
const (
	serveVariable   = "AC_TEST_SERVE"
	chatterVariable = "AC_TEST_CHATTER"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.SuperviseCommand:
			os.Exit(exitCode(keep(supervisor.Main)))
		case job.RunCommand:
			os.Exit(exitCode(keep(workflow.RunJob)))
		case session.GuardCommand:
			os.Exit(exitCode(session.RunGuard()))
		}
	}
	if os.Getenv(serveVariable) != "" {
		os.Exit(exitCode(serveStdio()))
	}
	os.Exit(runtimetest.With(m).Run())
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func keep(run func(string, io.Reader, io.WriteCloser, <-chan struct{}) error) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	return run(executable, os.Stdin, os.Stdout, make(chan struct{}))
}

// serveStdio serves as server:start does.
func serveStdio() error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	stderr := NewLossy(os.Stderr)
	log := slog.New(slog.NewTextHandler(stderr, nil))
	lines, _ := strconv.Atoi(os.Getenv(chatterVariable))
	for i := range lines {
		log.Info("nobody reads this line of the log of a server that goes on nevertheless", "line", i)
	}
	err = Serve(ctx, Options{In: os.Stdin, Out: os.Stdout, Log: log, Env: workspace.SystemEnv(), Executable: executable, Version: "test"})
	return errors.Join(err, stderr.Close())
}
