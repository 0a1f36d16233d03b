// Package runtimetest runs the tests of packages whose sessions have sockets
// with a runtime directory of their own, and removes it afterwards.
package runtimetest

import (
	"errors"
	"os"
)

// Tests are those of a package: *testing.M.
type Tests interface{ Run() int }

// With wraps tests so that they, and programs that they start, use a private
// runtime directory.
func With(m Tests) Tests { return tests{m} }

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
