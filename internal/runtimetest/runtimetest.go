// Package runtimetest runs the tests of packages whose sessions have sockets
// with a runtime directory of their own, and removes it afterwards. Tests that
// mostly wait, for processes and for the disk, run more at a time than there are
// processors, and their temporary files are in memory where there is room.
package runtimetest

import (
	"errors"
	"flag"
	"os"
	"strconv"
)

// overlapping is how many tests that mostly wait run at a time: with more, the
// tests of the repository did not end earlier.
const overlapping = 8

// Overlap lets more tests of this process run at a time than there are
// processors, unless -parallel says how many. It belongs into TestMain.
func Overlap() {
	if err := flag.Set("test.parallel", strconv.Itoa(overlapping)); err != nil {
		panic(err) // not a test
	}
}

// Tests are those of a package: *testing.M.
type Tests interface{ Run() int }

// With wraps tests so that they, and programs that they start, use a private
// runtime directory and temporary files in memory, and so that they overlap.
func With(m Tests) Tests {
	Overlap()
	InMemory()
	return tests{m}
}

type tests struct{ inner Tests }

// Run runs the tests and removes what they left behind.
func (t tests) Run() int {
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		err = errors.Join(
			os.Setenv("XDG_RUNTIME_DIR", dir),        // where sockets are made
			os.Setenv("GORACE", "atexit_sleep_ms=0"), // instrumented programs linger for a second each
		)
	}
	if err != nil {
		panic(err) // no test can run
	}
	code := t.inner.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	return code
}
