package orchestration

import (
	"fmt"
	"os"
	"testing"
)

// TestMain puts the sockets of these tests into their own directory with a short path.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ac")
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
