// Package runtimetest runs the tests of packages whose sessions have sockets in a private
// runtime directory, and removes it afterwards. Tests that mostly wait, for processes and for
// the disk, run with more parallelism than there are processors. Their temporary files are in
// memory if there is room.
package runtimetest

import (
	"errors"
	"flag"
	"os"
	"strconv"
)

// overlapping is the number of tests that run in parallel. With more, the tests of the
// repository did not finish earlier.
const overlapping = 8

// Overlap lets more tests of this process run in parallel than there are processors, unless
// -parallel sets the number. Call it in TestMain.
func Overlap() {
	if err := flag.Set("test.parallel", strconv.Itoa(overlapping)); err != nil {
		panic(err) // not a test binary
	}
}

// Tests are the tests of a package: *testing.M.
type Tests interface{ Run() int }

// With returns tests that, like the programs that they start, use a private runtime directory
// and temporary files in memory. The tests overlap.
func With(m Tests) Tests {
	Overlap()
	InMemory()
	return tests{m}
}

type tests struct{ inner Tests }

// Run runs the tests and then removes their runtime directory.
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
