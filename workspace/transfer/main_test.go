package transfer_test

// TestMain keeps the files of the tests in memory: they write whole workspaces and sync each
// file.

import (
	"os"
	"testing"

	"ac/internal/runtimetest"
)

func TestMain(m *testing.M) {
	runtimetest.InMemory()
	os.Exit(m.Run())
}
