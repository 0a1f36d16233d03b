package cli

// Write errors on stdout: a command that cannot write its output has failed.

import (
	"fmt"
	"io"
	"os"
)

// Output is a stdout that records its first write error. It is not safe for concurrent use.
type Output struct {
	File   *os.File
	failed error  // the first write error
	before func() // called before the first write; may be nil
}

// Write writes to the file.
func (o *Output) Write(text []byte) (int, error) {
	if before := o.before; before != nil {
		o.before = nil
		before()
	}
	n, err := o.File.Write(text)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return n, err
}

// Fd returns the file descriptor, to check whether it is a terminal.
func (o *Output) Fd() uintptr { return o.File.Fd() }

// Descriptor is implemented by writers with a file descriptor.
type Descriptor interface{ Fd() uintptr }

// RawStdout returns stdout for commands that continue after write errors.
func (a *App) RawStdout() io.Writer {
	if out, ok := a.Stdout.(*Output); ok {
		return out.File
	}
	return a.Stdout
}

// StdoutErr returns the first write error of stdout, if any.
func (a *App) StdoutErr() error {
	if out, ok := a.Stdout.(*Output); ok && out.failed != nil {
		return fmt.Errorf("standard output: %w", out.failed)
	}
	return nil
}

// PassOn writes an agent's output to stdout or stderr, by the name of the stream.
func (a *App) PassOn(stream string, chunk []byte) error {
	out := a.Stdout
	if stream == "stderr" {
		out = a.Stderr
	}
	_, err := out.Write(chunk)
	return err
}
