// Command ac is a control plane for companies of coding agents: a JSON-RPC
// server for desktop apps, the same operations as commands, and the
// verification of run logs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/runs/session"
)

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs the program with these arguments and gives its exit code. Tests
// call it as the program they run.
func Main(args []string) int {
	args = withoutScript(args)
	if len(args) > 0 {
		switch args[0] {
		case session.SuperviseCommand:
			return keep(session.SuperviseMain)
		case job.RunCommand:
			return keep(workflow.RunJob)
		case session.GuardCommand:
			return exitOf(session.RunGuard())
		}
	}
	a := &app{stdin: os.Stdin, stdout: &output{file: os.Stdout}, stderr: os.Stderr}
	var err error
	if a.executable, err = os.Executable(); err != nil {
		a.fail("", err)
		return exitFailure
	}
	return a.run(context.Background(), args)
}

// withoutScript drops the name of a script in front: callers that have a launcher
// run a script name it there, whatever they launch.
func withoutScript(args []string) []string {
	if len(args) > 0 && strings.HasSuffix(args[0], ".js") && exists(args[0]) {
		return args[1:]
	}
	return args
}

// surviveReaders makes writing to a reader that is gone an error, not the end of
// this process. A handler, unlike ignoring, is not inherited by what we start.
func surviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// keep is a hidden command that follows providers: a session's supervisor, or the
// runner of a job.
func keep(run func(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error) int {
	surviveReaders()
	executable, err := os.Executable()
	if err != nil {
		return exitFailure
	}
	interrupt := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() { // for the life of the process
		<-signals
		close(interrupt)
	}()
	return exitOf(run(executable, os.Stdin, os.Stdout, interrupt))
}

func exitOf(err error) int {
	if err != nil {
		return exitFailure
	}
	return 0
}

// Exit codes. Interrupted commands add the signal to 128.
const (
	exitFailure  = 1
	exitFindings = 2
	exitSignal   = 128
)

// exitError ends a command with a code when what is to be said was said.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// usageError is a fault of the command line.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// app is what commands work with.
type app struct {
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
	executable string
}

// run executes one command line.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	args, err := expandMulti(root, args)
	if err != nil {
		a.fail("", err)
		return exitFailure
	}
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if len(args) == 0 {
		root.SetOut(a.stderr)
		_ = root.Help() // it only fails where stderr cannot be written
		return exitFailure
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.stdoutErr()
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return code.code
	}
	if err != nil {
		a.fail(cmd.Name(), err)
		return exitFailure
	}
	return 0
}
