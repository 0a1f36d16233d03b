package cli

// Write errors on stdout: a command whose output could not be written has
// failed.

import (
	"fmt"
	"io"
	"os"
)

// Output is a stdout that remembers its first write error. It is not safe for
// concurrent use.
type Output struct {
	File   *os.File
	failed error  // the first write error
	before func() // called before the first byte, nil for nothing
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

// Fd is the file descriptor, to check whether it is a terminal.
func (o *Output) Fd() uintptr { return o.File.Fd() }

// Descriptor is implemented by terminals.
type Descriptor interface{ Fd() uintptr }

// RawStdout is stdout for commands that continue when it is not read.
func (a *App) RawStdout() io.Writer {
	if out, ok := a.Stdout.(*Output); ok {
		return out.File
	}
	return a.Stdout
}

// StdoutErr is the first write error of stdout, if any.
func (a *App) StdoutErr() error {
	if out, ok := a.Stdout.(*Output); ok && out.failed != nil {
		return fmt.Errorf("standard output: %w", out.failed)
	}
	return nil
}

// PassOn writes output of an agent to the stream of its name.
func (a *App) PassOn(stream string, chunk []byte) error {
	out := a.Stdout
	if stream == "stderr" {
		out = a.Stderr
	}
	_, err := out.Write(chunk)
	return err
}
