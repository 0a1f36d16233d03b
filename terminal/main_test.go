//go:build linux

package terminal_test

import (
	"fmt"
	"os"
	"testing"

	"ac/internal/runtimetest"
	"ac/runs/session"
)

// TestMain lets the test binary also act as a terminal's guard and as a server.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == session.GuardCommand {
		if err := session.RunGuard(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("TERMINAL_TEST_SERVER") != "" {
		serve()
	}
	runtimetest.Overlap()
	os.Exit(m.Run())
}
