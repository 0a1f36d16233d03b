package transfer_test

// The tests of this package write whole workspaces, and wait for each file.

import (
	"os"
	"testing"

	"ac/internal/runtimetest"
)

func TestMain(m *testing.M) {
	runtimetest.InMemory()
	os.Exit(m.Run())
}
