// Package runtimetest runs the tests of packages whose sessions have sockets: those lie
// in a folder of the test's own, and nothing of it stays.
package runtimetest

import (
	"errors"
	"os"
)

// Tests are those of a package: *testing.M.
type Tests interface{ Run() int }

// With gives the same tests in such a surrounding. Programs that they start have it, too.
func With(m Tests) Tests { return tests{m} }

type tests struct{ inner Tests }

// Run runs the tests and removes what they left.
func (t tests) Run() int {
	dir, err := os.MkdirTemp("", "run")
	if err == nil {
		err = errors.Join(
			os.Setenv("XDG_RUNTIME_DIR", dir),        // of the sockets
			os.Setenv("GORACE", "atexit_sleep_ms=0"), // instrumented programs linger for a second each
		)
	}
	if err != nil {
		panic(err) // no test can be run
	}
	code := t.inner.Run()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	return code
}
