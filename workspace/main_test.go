package workspace

// The tests of this package write small files all the time, and wait for each.

import (
	"os"
	"testing"

	"ac/internal/runtimetest"
)

func TestMain(m *testing.M) {
	runtimetest.InMemory()
	os.Exit(m.Run())
}
