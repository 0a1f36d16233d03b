package cli

// The context of every command: its streams, and the ways to exit.

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// SurviveReaders makes a write to a closed pipe return an error instead of ending this process.
// Child processes do not inherit the signal handler, as they would inherit an ignored signal.
func SurviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Exit codes. Interrupted commands exit with ExitSignal + signal.
const (
	ExitFailure  = 1
	ExitFindings = 2
	ExitSignal   = 128
)

// ExitError ends a command with an exit code and without further output.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// UsageError is an error in the command line.
type UsageError struct{ Message string }

func (e UsageError) Error() string { return e.Message }

// App is the context of commands.
type App struct {
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
	Executable string
	Version    string
}
