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

	"ac/dialect/daemon"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	_ "ac/internal/guard/takeover"
	"ac/internal/proc"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

func main() { os.Exit(Main(os.Args[1:])) }

// Main runs the program with these arguments and returns its exit code. Tests
// use it as their main function.
func Main(args []string) int {
	args = withoutScript(args)
	if len(args) > 0 {
		switch args[0] {
		case session.SuperviseCommand:
			return keep(supervise)
		case job.RunCommand:
			return keep(workflow.RunJob)
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

// withoutScript drops a leading script name: callers with a script launcher
// pass one.
func withoutScript(args []string) []string {
	if len(args) > 0 && strings.HasSuffix(args[0], ".js") && exists(args[0]) {
		return args[1:]
	}
	return args
}

// surviveReaders makes a write to a closed pipe an error instead of the end of
// this process. Child processes do not inherit a handler, as they would an
// ignored signal.
func surviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// keep runs a hidden command that follows providers: a session's supervisor, or
// the runner of a job.
func keep(run func(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error) int {
	surviveReaders()
	defer proc.NewRest().Close()
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

// supervise follows one session. The runner of a job that its agent launches is a
// child of this process: one of the agent's would end with the agent.
func supervise(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error {
	host := supervisor.Host{Executable: executable, Interrupt: interrupt}
	host.StartJob = func(ctx context.Context, w *workspace.Workspace, project, id string, environ []string) error {
		starter := &job.Starter{Executable: executable, Environ: environ, Version: buildVersion(), Attached: true}
		return job.Start(ctx, w, starter, project, id)
	}
	return supervisor.MainFor(host, in, out)
}

func exitOf(err error) int {
	if err != nil {
		return exitFailure
	}
	return 0
}

// Exit codes. Interrupted commands exit with 128 + signal.
const (
	exitFailure  = 1
	exitFindings = 2
	exitSignal   = 128
)

// exitError ends a command with a code without printing anything more.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// usageError is an error in the command line.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

// app is the context of commands.
type app struct {
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
	executable string
}

// run executes one command line.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	args, err := expandMulti(root, hoist(args))
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
		_ = root.Help() // it fails only if stderr cannot be written
		return exitFailure
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.stdoutErr()
	}
	if out, ok := a.stdout.(*output); ok && errors.Is(out.failed, syscall.EPIPE) {
		return exitSignal + int(syscall.SIGPIPE) // the reader went away
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return code.code
	}
	if err != nil {
		a.fail(cmd.Name(), err)
		if server, ok := errors.AsType[*daemon.Error](err); ok {
			return server.Status
		}
		return exitFailure
	}
	return 0
}
