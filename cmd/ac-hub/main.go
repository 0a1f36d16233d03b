// Command ac-hub places sessions on other machines and executes them there: the hub of a
// workspace, and workers. `ac` runs it for the commands that need it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ac/fleet"
	"ac/internal/fault"
	"ac/internal/terminal"
	"ac/workspace"
)

// Set by the linker for releases.
var version = "dev"

func main() { os.Exit(Main(os.Args[1:])) }

// exitFailure is the exit code for failed work and for wrong usage.
const exitFailure = 1

// app is the context of commands.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	version        string
	environ        []string
	env            workspace.Env
	speaks         fleet.Versions
}

// Main runs the program with the given arguments and returns its exit code. Tests use it as their
// main function.
func Main(args []string) int {
	return start(args, &app{version: buildVersion(), env: workspace.SystemEnv(), speaks: fleet.Speaks()})
}

// start runs the program with the version and versions that a declares.
func start(args []string, a *app) int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a closed pipe is an error, not the end
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	a.stdin, a.stdout, a.stderr, a.environ = os.Stdin, os.Stdout, os.Stderr, os.Environ()
	return a.run(ctx, args)
}

// usageError is a usage error in the command line.
type usageError struct{ error }

// run executes one command line.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[exitError](err); ok {
		return code.code
	}
	word := "ERROR"
	if _, ok := errors.AsType[usageError](err); ok {
		word = "error"
	}
	text := err.Error()
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		text = refused.InFull()
	}
	fmt.Fprintf(a.stderr, "%s: %s\n", word, terminal.Quote(strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ")))
	return exitFailure
}

// exitError ends a command with an exit code and no further output.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// root returns the root command.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "ac-hub", Short: "Place sessions on other machines, and execute them there", Version: a.version,
		SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 {
				return usageError{errors.New("missing command (see: ac-hub --help)")}
			}
			return usageError{fmt.Errorf("unknown command %s (see: ac-hub --help)", given[0])}
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(a.hubStart(), a.hubPermissions())
	root.AddCommand(a.workerCommands()...)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	return root
}

// rangeArgs requires between least and most arguments.
func rangeArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := cobra.RangeArgs(least, most)(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// log returns the logger of long-running commands. It writes to stderr.
func (a *app) log() *slog.Logger { return slog.New(slog.NewTextHandler(a.stderr, nil)) }

// acProgram returns the program that supervises sessions: ac next to this program, otherwise ac
// in PATH.
func acProgram() (string, error) {
	own, err := os.Executable()
	if err == nil {
		beside := filepath.Join(filepath.Dir(own), "ac")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	found, err := exec.LookPath("ac")
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err != nil {
		return "", errors.New("ac is not installed beside ac-hub, nor in PATH; a worker needs both")
	}
	return found, nil
}

// buildVersion returns the version of this build.
func buildVersion() string {
	if version != "dev" {
		return version
	}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" && build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	return version
}
