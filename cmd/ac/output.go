package main

// Standard output that is full, or gone: a command whose text was not taken has
// not done what it was asked for.

import (
	"fmt"
	"io"
	"os"
)

// output is a standard output that remembers what went wrong with it. It is for
// one goroutine at a time.
type output struct {
	file   *os.File
	failed error // of the first write that did
}

// Write writes to the file.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.file.Write(text)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return n, err
}

// Fd is the descriptor, for those who ask whether it is a terminal.
func (o *output) Fd() uintptr { return o.file.Fd() }

// descriptor is what a terminal has.
type descriptor interface{ Fd() uintptr }

// rawStdout is standard output for those who go on when nobody reads it.
func (a *app) rawStdout() io.Writer {
	if out, ok := a.stdout.(*output); ok {
		return out.file
	}
	return a.stdout
}

// stdoutErr is why standard output did not take what was printed, if so.
func (a *app) stdoutErr() error {
	if out, ok := a.stdout.(*output); ok && out.failed != nil {
		return fmt.Errorf("standard output: %w", out.failed)
	}
	return nil
}
