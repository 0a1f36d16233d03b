// Command ac is a control plane for companies of coding agents: a JSON-RPC
// server for desktop apps, the same operations as commands, and the
// verification of run logs.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"ac/cmd/ac/cli"
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
	args = cli.WithoutScript(args)
	if len(args) > 0 {
		switch args[0] {
		case session.SuperviseCommand:
			return keep(supervise)
		case job.RunCommand:
			return keep(workflow.RunJob)
		}
	}
	a := &cli.App{Stdin: os.Stdin, Stdout: &cli.Output{File: os.Stdout}, Stderr: os.Stderr, Version: buildVersion()}
	var err error
	if a.Executable, err = os.Executable(); err != nil {
		a.Fail("", err)
		return cli.ExitFailure
	}
	return run(context.Background(), a, args)
}

// keep runs a hidden command that supervises providers: a session's supervisor, or the runner of a
// job.
func keep(run func(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}) error) int {
	cli.SurviveReaders()
	defer proc.NewIdleUnmapper().Close()
	executable, err := os.Executable()
	if err != nil {
		return cli.ExitFailure
	}
	interrupt := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() { // runs until the process exits
		<-signals
		close(interrupt)
	}()
	return exitOf(run(executable, os.Stdin, os.Stdout, interrupt))
}

// supervise supervises one session. If the session's agent launches a job, this process starts the
// job's runner as its own child, because a child of the agent would end with the agent.
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
		return cli.ExitFailure
	}
	return 0
}

// run runs one command line.
func run(ctx context.Context, a *cli.App, args []string) int {
	root := newRoot(a)
	args, err := cli.Expand(root, args)
	if err != nil {
		a.Fail("", err)
		return cli.ExitFailure
	}
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	if len(args) == 0 {
		root.SetOut(a.Stderr)
		_ = root.Help() // it fails only if stderr cannot be written
		return cli.ExitFailure
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = a.StdoutErr()
	}
	if errors.Is(a.StdoutErr(), syscall.EPIPE) {
		return cli.ExitSignal + int(syscall.SIGPIPE) // the reader has gone
	}
	if code, ok := errors.AsType[cli.ExitError](err); ok {
		return code.Code
	}
	if err != nil {
		a.Fail(cmd.Name(), err)
		if server, ok := errors.AsType[*daemon.Error](err); ok {
			return server.Status
		}
		return cli.ExitFailure
	}
	return 0
}
