package workspace

// TestMain keeps the files of the tests in memory: they write many small ones and sync each.

import (
	"os"
	"testing"

	"ac/internal/runtimetest"
)

func TestMain(m *testing.M) {
	runtimetest.InMemory()
	os.Exit(m.Run())
}
