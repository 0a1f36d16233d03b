package main

// Write errors on stdout: a command whose output could not be written has
// failed.

import (
	"fmt"
	"io"
	"os"
)

// output is a stdout that remembers its first write error. It is not safe for
// concurrent use.
type output struct {
	file   *os.File
	failed error  // the first write error
	before func() // called before the first byte, nil for nothing
}

// Write writes to the file.
func (o *output) Write(text []byte) (int, error) {
	if before := o.before; before != nil {
		o.before = nil
		before()
	}
	n, err := o.file.Write(text)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return n, err
}

// Fd is the file descriptor, to check whether it is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// descriptor is implemented by terminals.
type descriptor interface{ Fd() uintptr }

// rawStdout is stdout for commands that continue when it is not read.
func (a *app) rawStdout() io.Writer {
	if out, ok := a.stdout.(*output); ok {
		return out.file
	}
	return a.stdout
}

// stdoutErr is the first write error of stdout, if any.
func (a *app) stdoutErr() error {
	if out, ok := a.stdout.(*output); ok && out.failed != nil {
		return fmt.Errorf("standard output: %w", out.failed)
	}
	return nil
}
